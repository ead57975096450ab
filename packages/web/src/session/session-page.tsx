import { useSession } from "@coppice/react";
import type { ReactNode } from "react";
import { Link } from "../app/router.tsx";
import { OpenSession } from "./page/open-session.tsx";
import "./page/session.css";

/** One session: its tree, the branch as a transcript, and the log. */
export function SessionPage({ sessionId }: { readonly sessionId: string }): ReactNode {
  const state = useSession(sessionId);
  if (state.state === "open") return <OpenSession session={state.session} />;
  if (state.state === "opening")
    return (
      <p className="page-note" role="status">
        Opening the session…
      </p>
    );
  return (
    <div className="page-note" role="alert">
      <h1>This session does not open</h1>
      <p>{state.error.message}</p>
      <p>
        <button type="button" className="button" onClick={state.retry}>
          Try again
        </button>{" "}
        <Link to="/">All sessions</Link>
      </p>
    </div>
  );
}
