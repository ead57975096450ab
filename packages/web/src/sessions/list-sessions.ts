import { groupSessionsByRemote, type WorkspaceSession } from "@coppice/client";
import { toShownLine } from "../session/model/shown-text.ts";

/** Sessions of one project. */
export interface ProjectGroup {
  /** `host/path` of the repository, else the folder; undefined: nothing is known of one. */
  readonly project: string | undefined;
  readonly sessions: readonly WorkspaceSession[];
}

/** When something last happened in a session, in ms since 1970: at the latest when it was made. */
export function activityOf({ lastActivityAt, createdAt }: WorkspaceSession): number {
  return lastActivityAt ?? (Date.parse(createdAt) || 0);
}

/** The ids of the most active ones. */
export function listRecent(sessions: readonly WorkspaceSession[], count: number): ReadonlySet<string> {
  const byActivity = [...sessions].sort((left, right) => activityOf(right) - activityOf(left));
  return new Set(byActivity.slice(0, count).map(({ id }) => id));
}

/** Its name, as a line that hides nothing, or the end of its id, which tells sessions of one day apart. */
export function titleOf({ name, id }: Pick<WorkspaceSession, "id" | "name">): string {
  return toShownLine(name ?? "") || `Session ${toShownLine(id).slice(-8)}`;
}

/** Those that have every word of the search somewhere, the most active first, by project. */
export function arrangeSessions(sessions: readonly WorkspaceSession[], search: string): ProjectGroup[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = sessions
    .filter((session) => {
      const text = [session.name, session.id, session.gitRemote, session.cwd].join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((left, right) => activityOf(right) - activityOf(left));
  return groupSessionsByRemote(found).flatMap(({ remote, sessions: ofRemote }) =>
    remote === undefined ? groupByFolder(ofRemote) : [{ project: remote, sessions: ofRemote }],
  );
}

function groupByFolder(sessions: readonly WorkspaceSession[]): ProjectGroup[] {
  const groups = new Map<string | undefined, WorkspaceSession[]>();
  for (const session of sessions) {
    const folder = session.cwd === undefined || session.cwd === "" ? undefined : session.cwd;
    const group = groups.get(folder) ?? [];
    groups.set(folder, group);
    group.push(session);
  }
  return Array.from(groups, ([project, grouped]) => ({ project, sessions: grouped }));
}
