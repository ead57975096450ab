import { useSessions, WorkspaceProvider } from "@coppice/react";
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useRef } from "react";
import { DevicesPage } from "../devices/devices-page.tsx";
import type { AppHome, OpenedWorkspace } from "../home/app-home.ts";
import type { StoredWorkspace } from "../home/stored-workspace.ts";
import { UnsentSessions } from "../home/unsent-sessions.tsx";
import { titleOf } from "../sessions/list-sessions.ts";
import { SessionsPage } from "../sessions/sessions-page.tsx";
import { useBranchAnnouncements } from "../status/branch-announcements.ts";
import { StatusBar } from "../status/status-bar.tsx";
import { PageBoundary } from "./page-boundary.tsx";
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
  const main = useRef<HTMLElement>(null);
  useBranchAnnouncements(opened.workspace);
  useFocusOnNewPage(route, main);
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
        <main id="main" ref={main} className="app-main" tabIndex={-1}>
          <PageTitle route={route} />
          <PageBoundary place={JSON.stringify(route)}>
            <Page route={route} home={home} opened={opened} stored={stored} />
          </PageBoundary>
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

/** Names the page in the window's title. */
function PageTitle({ route }: { readonly route: Route }): ReactNode {
  const sessions = useSessions();
  const session = route.page === "session" ? sessions.find(({ id }) => id === route.sessionId) : undefined;
  const name = session === undefined ? namesByPage[route.page] : titleOf(session);
  useEffect(() => {
    document.title = `${name} · Coppice`;
    return () => {
      document.title = "Coppice";
    };
  }, [name]);
  return null;
}

const namesByPage: { readonly [page in Route["page"]]: string } = {
  sessions: "Sessions",
  session: "Session",
  devices: "Devices",
  unknown: "No such page",
};

/** Whoever goes by keyboard or listens goes on in the new page; the first one is where browsers begin anyway. */
function useFocusOnNewPage(route: Route, main: RefObject<HTMLElement | null>): void {
  const focused = useRef(route);
  useEffect(() => {
    if (focused.current === route) return;
    focused.current = route;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [route, main]);
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
