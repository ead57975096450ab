import type { WorkspaceSession } from "@coppice/client";
import { useSessions, useSyncStatus } from "@coppice/react";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { sessionPath } from "../app/route.ts";
import { navigate } from "../app/router.tsx";
import type { OpenedWorkspace } from "../home/app-home.ts";
import { toShownLine } from "../session/model/shown-text.ts";
import { reportFailure } from "../status/announcements.ts";
import { arrangeSessions, listRecent } from "./list-sessions.ts";
import { NewSessionDialog, RenameDialog } from "./session-dialogs.tsx";
import { SessionRow } from "./session-row.tsx";
import "./sessions.css";

/** So many sessions are open while the list is shown: enough for what somebody works on, few enough for a phone. */
const recentCount = 5;

/** Every session of the workspace, by project. */
export function SessionsPage({ opened }: { readonly opened: OpenedWorkspace }): ReactNode {
  const { workspace, stored } = opened;
  const [isArchived, setArchived] = useState(false);
  const [search, setSearch] = useState("");
  const [renamed, setRenamed] = useState<WorkspaceSession>();
  const [isMaking, setMaking] = useState(false);
  const sessions = useSessions({ archived: isArchived });
  const now = useNow();
  useEffect(() => workspace.refreshActivity(), [workspace]);
  const recent = isArchived ? new Set<string>() : listRecent(sessions, recentCount);
  const groups = arrangeSessions(sessions, search);
  const { list, keepFocus } = useKeptFocus();
  return (
    <div ref={list} className="sessions">
      <div className="sessions-head">
        <h1>Sessions</h1>
        <button type="button" className="button" onClick={() => setMaking(true)}>
          New session
        </button>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers that shipped in 2022 do not know the search element */}
      <div role="search" className="sessions-filter">
        <input
          type="search"
          className="field"
          aria-label="Search sessions"
          placeholder="Search by name, project or id"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <button
          type="button"
          className="button-quiet"
          aria-pressed={isArchived}
          onClick={() => setArchived((was) => !was)}
        >
          Archived
        </button>
      </div>
      {groups.length > 0 ? (
        groups.map(({ project, sessions: ofProject }) => (
          <section key={project ?? ""} aria-label={toShownLine(project ?? "") || "No project"}>
            <h2 className="sessions-project" dir="auto">
              {toShownLine(project ?? "") || "No project"}
            </h2>
            <ul className="sessions-list">
              {ofProject.map((session) => (
                <SessionRow
                  key={session.id}
                  session={session}
                  now={now}
                  hasPresence={recent.has(session.id)}
                  onRename={() => setRenamed(session)}
                  onArchive={() => {
                    keepFocus();
                    const change = session.archived
                      ? workspace.unarchiveSession(session.id)
                      : workspace.archiveSession(session.id);
                    change.catch(reportFailure);
                  }}
                />
              ))}
            </ul>
          </section>
        ))
      ) : (
        <NoSessions
          opened={opened}
          isArchived={isArchived}
          isSearch={search.trim() !== ""}
          hasRelay={stored.relay !== undefined}
        />
      )}
      {workspace.newerRecords === 0 ? null : (
        <p className="muted">A newer version of Coppice has written here; reload to see all there is.</p>
      )}
      {isMaking ? (
        <NewSessionDialog
          onClose={() => setMaking(false)}
          onMake={async (name) => {
            const session = await workspace.createSession({ cwd: "", ...(name === "" ? {} : { name }) });
            navigate(sessionPath(session.id));
          }}
        />
      ) : null}
      {renamed === undefined ? null : (
        <RenameDialog
          session={renamed}
          onClose={() => setRenamed(undefined)}
          onRename={async (name) => {
            await workspace.renameSession(renamed.id, name);
          }}
        />
      )}
    </div>
  );
}

interface NoSessionsProps {
  readonly opened: OpenedWorkspace;
  readonly isArchived: boolean;
  readonly isSearch: boolean;
  readonly hasRelay: boolean;
}

/** Why the list is empty: four different things, of which one is not to be taken for another. */
function NoSessions({ opened, isArchived, isSearch, hasRelay }: NoSessionsProps): ReactNode {
  const { relay } = useSyncStatus(opened.workspace);
  if (isSearch) return <p className="sessions-empty">No session has all of these words.</p>;
  if (isArchived) return <p className="sessions-empty">No session is archived.</p>;
  if (hasRelay && (relay.state === "connecting" || relay.state === "catching-up"))
    return (
      <p role="status" className="sessions-empty">
        Fetching the list…
      </p>
    );
  if (hasRelay && relay.state !== "live")
    return (
      <p className="sessions-empty">
        No session has reached this browser yet. They come when the relay can be reached.
      </p>
    );
  return (
    <div className="sessions-empty">
      <p>There is no session yet.</p>
      <p>Start one here, or bring those of this computer in:</p>
      <code className="command">npx coppice import</code>
    </div>
  );
}

/** When the row that has the focus leaves the list, the focus goes to the one in its place, else to the search. */
function useKeptFocus(): { readonly list: RefObject<HTMLDivElement | null>; readonly keepFocus: () => void } {
  const list = useRef<HTMLDivElement>(null);
  const place = useRef<number>(undefined);
  useEffect(() => {
    if (place.current === undefined || document.activeElement !== document.body) return;
    const rows = list.current?.querySelectorAll<HTMLElement>(".session-link");
    const next = rows?.[Math.min(place.current, rows.length - 1)];
    (next ?? list.current?.querySelector("input"))?.focus();
    place.current = undefined;
  });
  const keepFocus = (): void => {
    const rows = [...(list.current?.querySelectorAll(".session-row") ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    place.current = at < 0 ? undefined : at;
  };
  return { list, keepFocus };
}

/** The time, read again each half minute: it is shown in minutes. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
