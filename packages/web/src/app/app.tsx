import { type ReactNode, useSyncExternalStore } from "react";
import type { AppHome } from "../home/app-home.ts";
import { JoinPage } from "../home/join-page.tsx";
import { WelcomePage } from "../home/welcome-page.tsx";
import { Toasts } from "../status/toasts.tsx";
import { WorkspaceApp } from "./workspace-app.tsx";
import "./app.css";

/** The whole app: what this browser's home is at decides what is shown. */
export function App({ home }: { readonly home: AppHome }): ReactNode {
  return (
    <>
      <AppContent home={home} />
      <Toasts />
    </>
  );
}

function AppContent({ home }: { readonly home: AppHome }): ReactNode {
  const app = useSyncExternalStore(home.subscribe, home.getState);
  switch (app.state) {
    case "starting":
      return (
        <main className="sheet">
          <p role="status" className="muted">
            Opening…
          </p>
        </main>
      );
    case "unpaired":
      return <WelcomePage home={home} problem={app.problem} />;
    case "invited":
      return <JoinPage home={home} invitation={app.invitation} others={app.others} />;
    case "failed":
      return (
        <main className="sheet">
          <h1>This workspace cannot be opened</h1>
          <p role="alert" className="fault">
            {app.error.message}
          </p>
          <p>What is stored in this browser is left as it is.</p>
          <div className="acts">
            <button type="button" className="button" onClick={() => void home.start()}>
              Try again
            </button>
          </div>
        </main>
      );
    case "open":
      return <WorkspaceApp key={app.opened.stored.id} home={home} opened={app.opened} stored={app.stored} />;
  }
}
