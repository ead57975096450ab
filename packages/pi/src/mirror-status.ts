import type { SessionCursor, SharedSession, SyncStatus, Workspace } from "@coppice/client";
import type { MirrorRunner, MirrorStatus } from "./protocol.ts";

/** Where a session stands, by the words of acknowledgements and cursors. `hasRelay`: the workspace has one at all. */
export async function describeMirror(
  workspace: Workspace,
  session: SharedSession,
  hasRelay: boolean,
): Promise<MirrorStatus> {
  // The list counts too: until it is at the relay, no other device hears of a session that is new.
  const status = workspace.overallStatus();
  const cursors = session.getCursors();
  const reason = findReason(status);
  return {
    sessionId: session.id,
    relay: describeRelay(status, hasRelay),
    ...(reason === undefined ? {} : { reason }),
    waiting: status.pending + status.unsaved,
    devices: Math.max(1, new Set(cursors.map(({ deviceId }) => deviceId)).size),
    runners: await findRunners(session, cursors),
  };
}

function describeRelay({ relay }: SyncStatus, hasRelay: boolean): MirrorStatus["relay"] {
  if (!hasRelay) return "none";
  return relay.state === "too-old" ? "refused" : relay.state;
}

/** The gravest thing a person must know of. */
function findReason({ local, relay, notice }: SyncStatus): string | undefined {
  if (local.state === "failed") return `not saved here: ${local.reason}`;
  if (relay.state === "too-old") return `upgrade needed: ${relay.reason}`;
  if (relay.state === "refused") return relay.reason;
  return notice?.reason;
}

async function findRunners(session: SharedSession, cursors: readonly SessionCursor[]): Promise<MirrorRunner[]> {
  const running = cursors.filter(({ self, running }) => !self && running === true);
  if (running.length === 0) return [];
  const leafId = await session.storage.getLeafId();
  const runners: MirrorRunner[] = [];
  for (const cursor of running) {
    if (!(await isOnOneLine(session, leafId, cursor.leafId))) continue;
    const { replicaId, deviceId, deviceName, sameDevice } = cursor;
    runners.push({ replicaId, deviceName: deviceName ?? deviceId, sameDevice });
  }
  return runners;
}

/** Whether one of two leaves is on the other's path to the root. One that has not arrived here is on none. */
async function isOnOneLine(session: SharedSession, left: string | null, right: string | null): Promise<boolean> {
  if (left === right || left === null || right === null) return true;
  for (const [from, to] of [
    [left, right],
    [right, left],
  ] as const) {
    if (session.getAuthor(from) === undefined) continue;
    const path = await session.storage.getPathToRoot(from);
    if (path.some(({ id }) => id === to)) return true;
  }
  return false;
}
