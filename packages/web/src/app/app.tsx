import type { ReactNode } from "react";
import { SessionPage } from "../session/session-page.tsx";
import { Link, useRoute } from "./router.tsx";
import "./app.css";

/** The frame around every page. */
export function App(): ReactNode {
  const route = useRoute();
  return (
    <div className="app">
      <header className="app-header">
        <Link to="/" className="app-name">
          Coppice
        </Link>
      </header>
      <main className="app-main">
        {route.page === "session" ? <SessionPage key={route.sessionId} sessionId={route.sessionId} /> : null}
      </main>
    </div>
  );
}
