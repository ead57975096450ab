import type { WorkspaceSession } from "@coppice/client";
import type { ReactNode } from "react";
import { sessionPath } from "../app/route.ts";
import { Link } from "../app/router.tsx";
import { describeAge } from "./describe-time.ts";
import { activityOf, titleOf } from "./list-sessions.ts";
import { SessionPresence } from "./session-presence.tsx";

/** A session in the list. */
export interface SessionRowProps {
  readonly session: WorkspaceSession;
  /** In ms since 1970. */
  readonly now: number;
  /** Whether to open it, so as to show who else has. */
  readonly hasPresence: boolean;
  readonly onRename: () => void;
  readonly onArchive: () => void;
}

/** Name, last activity, and what may be done with it. */
export function SessionRow({ session, now, hasPresence, onRename, onArchive }: SessionRowProps): ReactNode {
  const title = titleOf(session);
  const at = activityOf(session);
  return (
    <li className="session-row">
      <Link to={sessionPath(session.id)} className="session-link">
        <span className="session-title" dir="auto">
          {title}
        </span>
        <span className="muted small">
          <time dateTime={new Date(at).toISOString()} title={new Date(at).toLocaleString()}>
            {describeAge(at, now)}
          </time>
          {session.parentSession === undefined ? null : " · fork"}
          {session.needsUpgrade ? " · needs a newer version" : null}
        </span>
        {hasPresence ? <SessionPresence sessionId={session.id} /> : null}
      </Link>
      <div className="acts">
        <button type="button" className="button-quiet" aria-label={`Rename ${title}`} onClick={onRename}>
          Rename
        </button>
        <button
          type="button"
          className="button-quiet"
          aria-label={`${session.archived ? "Unarchive" : "Archive"} ${title}`}
          onClick={onArchive}
        >
          {session.archived ? "Unarchive" : "Archive"}
        </button>
      </div>
    </li>
  );
}
