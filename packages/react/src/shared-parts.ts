import type { SessionChangeKind, SharedSession, Workspace } from "@coppice/client";
import { ChangeFeed } from "./change-feed.ts";
import { EntryContents } from "./entry-contents.ts";
import { HeldSessions } from "./held-sessions.ts";

/** What a workspace tells of. */
type WorkspaceChangeKind = Parameters<Parameters<Workspace["subscribe"]>[0]>[0];

interface WorkspaceParts {
  readonly feed: ChangeFeed<WorkspaceChangeKind>;
  readonly sessions: HeldSessions;
}

interface SessionParts {
  readonly feed: ChangeFeed<SessionChangeKind>;
  readonly contents: EntryContents;
}

// State of the module, because components share it that know nothing of each other, in several roots of a page too. The
// maps keep nothing alive, and what they hold begins only when a component is mounted.
const partsByWorkspace = new WeakMap<Workspace, WorkspaceParts>();
const partsBySession = new WeakMap<SharedSession, SessionParts>();

/** What the hooks of all components share for a workspace. */
export function partsOfWorkspace(workspace: Workspace): WorkspaceParts {
  let parts = partsByWorkspace.get(workspace);
  if (parts === undefined) {
    const feed = new ChangeFeed<WorkspaceChangeKind>(workspace);
    parts = { feed, sessions: new HeldSessions(workspace, feed) };
    partsByWorkspace.set(workspace, parts);
  }
  return parts;
}

/** What the hooks of all components share for an open session. */
export function partsOfSession(session: SharedSession): SessionParts {
  let parts = partsBySession.get(session);
  if (parts === undefined) {
    const feed = new ChangeFeed<SessionChangeKind>(session);
    parts = { feed, contents: new EntryContents(session, feed) };
    partsBySession.set(session, parts);
  }
  return parts;
}
