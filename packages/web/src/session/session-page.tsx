import type { ReactNode } from "react";
import { sessionPath } from "../app/route.ts";
import { navigate, useSearchParam } from "../app/router.tsx";

/** One session: its tree, the branch as a transcript, and the log. */
export function SessionPage({ sessionId }: { readonly sessionId: string }): ReactNode {
  const entryId = useSearchParam("entry");
  return (
    <>
      <h1>{sessionId}</h1>
      {entryId === undefined ? null : (
        <button type="button" onClick={() => navigate(sessionPath(sessionId))}>
          Leave {entryId}
        </button>
      )}
    </>
  );
}
