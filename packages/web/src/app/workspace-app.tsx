import { WorkspaceProvider } from "@coppice/react";
import { lazy, type ReactNode, Suspense } from "react";
import { DevicesPage } from "../devices/devices-page.tsx";
import type { AppHome, OpenedWorkspace } from "../home/app-home.ts";
import type { StoredWorkspace } from "../home/stored-workspace.ts";
import { UnsentSessions } from "../home/unsent-sessions.tsx";
import { SessionsPage } from "../sessions/sessions-page.tsx";
import { useBranchAnnouncements } from "../status/branch-announcements.ts";
import { StatusBar } from "../status/status-bar.tsx";
import type { Route } from "./route.ts";
import { Link, useRoute } from "./router.tsx";

// Its reading of markdown and code is not needed to see the sessions.
const SessionPage = lazy(async () => ({ default: (await import("../session/session-page.tsx")).SessionPage }));

/** What there is of the workspace that is open. */
export interface WorkspaceAppProps {
  readonly home: AppHome;
  readonly opened: OpenedWorkspace;
  readonly stored: readonly StoredWorkspace[];
}

/** The frame around every page of a workspace. */
export function WorkspaceApp({ home, opened, stored }: WorkspaceAppProps): ReactNode {
  const route = useRoute();
  useBranchAnnouncements(opened.workspace);
  return (
    <WorkspaceProvider workspace={opened.workspace}>
      <div className="app">
        <a className="skip-link" href="#main">
          Skip to the content
        </a>
        <header className="app-header">
          <Link to="/" className="app-name">
            Coppice
          </Link>
          <nav aria-label="Pages" className="app-nav">
            <Link to="/" aria-current={route.page === "sessions" ? "page" : undefined}>
              Sessions
            </Link>
            <Link to="/devices" aria-current={route.page === "devices" ? "page" : undefined}>
              Devices
            </Link>
          </nav>
          <StatusBar opened={opened} />
        </header>
        <main id="main" className="app-main" tabIndex={-1}>
          <Page route={route} home={home} opened={opened} stored={stored} />
        </main>
        {opened.stored.relay === undefined ? null : (
          <UnsentSessions
            home={home.home}
            workspaceId={opened.stored.id}
            shownId={route.page === "session" ? route.sessionId : undefined}
          />
        )}
      </div>
    </WorkspaceProvider>
  );
}

function Page({ route, ...props }: { readonly route: Route } & WorkspaceAppProps): ReactNode {
  switch (route.page) {
    case "sessions":
      return <SessionsPage opened={props.opened} />;
    case "devices":
      return <DevicesPage {...props} />;
    case "session":
      return (
        <Suspense fallback={<p className="sheet muted">Opening…</p>}>
          <SessionPage key={route.sessionId} sessionId={route.sessionId} />
        </Suspense>
      );
    case "unknown":
      return (
        <div className="sheet">
          <h1>There is no such page</h1>
          <p>
            <Link to="/">Go to the sessions</Link>
          </p>
        </div>
      );
  }
}
