import type { SharedSession, Workspace, WorkspaceSession } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { describeRefusal } from "./describe-status.ts";
import { mapInParallel } from "./in-parallel.ts";
import { openSessionsLimit } from "./open-home.ts";
import type { Output } from "./output.ts";
import { toPrintableLine } from "./terminal-text.ts";

/** A session that is pushed and fetched. */
export interface SyncedSession {
  readonly id: string;
  readonly name?: string | undefined;
  /** Entries it has now. */
  readonly entries: number;
  /** Entries that came from the relay. */
  readonly fetched: number;
}

// A relay that is up answers within a second; this leaves room for a slow network.
const contactMs = 5_000;
// A large room arrives in many pieces; as long as they come, the wait goes on.
const stallMs = 10_000;
const stepMs = 1_000;

/**
 * Waits until the relay has everything of this workspace and this device has everything of the relay, sessions that
 * are new on either side included. Rejects `not_synced` when the relay does not answer or stops answering, and
 * `relay_refused` when it refuses; what arrived until then is kept.
 */
export async function syncOnce(workspace: Workspace, relay: string, output: Output): Promise<SyncedSession[]> {
  if (!(await workspace.waitUntilSynced(contactMs))) throw toSyncError(workspace, relay, "the list of sessions");
  const syncedById = new Map<string, SyncedSession>();
  for (;;) {
    // Those that other devices list in the meantime come in the next round.
    const listed = workspace.listSessions().filter(({ id }) => !syncedById.has(id));
    if (listed.length === 0) break;
    const synced = await mapInParallel(listed, openSessionsLimit, async (next) => {
      output.showProgress(toPrintableLine(next.name ?? next.id));
      return syncSession(workspace, next, relay);
    });
    for (const session of synced) syncedById.set(session.id, session);
  }
  if (!(await workspace.waitUntilAcknowledged(stallMs))) throw toSyncError(workspace, relay, "the list of sessions");
  output.showProgress("");
  return [...syncedById.values()];
}

async function syncSession(workspace: Workspace, listed: WorkspaceSession, relay: string): Promise<SyncedSession> {
  const session = await workspace.openSession(listed.id);
  let fetched = 0;
  const stop = session.storage.subscribe(({ added }) => {
    fetched += added.length;
  });
  const countEntries = async (): Promise<number> => (await session.storage.getEntries()).length;
  const readMarker = (): string => `${fetched} ${session.status().pending}`;
  const isRefused = (): boolean => describeRefusal(session.status()) !== undefined;
  const failure = (): SessionError => toSyncError(session, relay, `the session ${listed.name ?? listed.id}`);
  try {
    const isFetched = await waitWhileMoving(
      (waitMs) => session.waitUntilSynced(waitMs),
      readMarker,
      // The device that listed the session has not sent it yet: there is nothing to wait for.
      async () => isRefused() || (session.status().relay.state === "live" && (await countEntries()) === 0),
    );
    if (!isFetched && (isRefused() || (await countEntries()) > 0)) throw failure();
    const isPushed = await waitWhileMoving(
      (waitMs) => session.waitUntilAcknowledged(waitMs),
      readMarker,
      async () => isRefused(),
    );
    if (!isPushed) throw failure();
    return { id: listed.id, name: listed.name, entries: await countEntries(), fetched };
  } finally {
    stop();
    await session.close();
  }
}

/** Waits in steps until `wait` succeeds, the marker has not changed for `stallMs`, or there is no point in waiting. */
async function waitWhileMoving(
  wait: (waitMs: number) => Promise<boolean>,
  readMarker: () => string,
  isPointless: () => Promise<boolean>,
): Promise<boolean> {
  let marker = readMarker();
  for (let idleMs = 0; idleMs < stallMs; ) {
    if (await wait(stepMs)) return true;
    if (await isPointless()) return false;
    idleMs = readMarker() === marker ? idleMs + stepMs : 0;
    marker = readMarker();
  }
  return false;
}

function toSyncError(replica: Pick<SharedSession, "status">, relay: string, what: string): SessionError {
  const status = replica.status();
  if (status.local.state === "failed")
    return new SessionError("storage", `This device could not save ${what}: ${status.local.reason}`);
  const refusal = describeRefusal(status);
  if (refusal !== undefined) return new SessionError("relay_refused", `Not synced, ${what}: ${refusal}.`);
  const waiting = status.pending === 0 ? "" : ` (${status.pending} waiting here)`;
  return status.relay.state === "live" || status.relay.state === "catching-up"
    ? new SessionError(
        "not_synced",
        `The relay at ${relay} stopped answering while ${what} was synced${waiting}; run the command again.`,
      )
    : new SessionError(
        "not_synced",
        `The relay at ${relay} cannot be reached${waiting}; check the address and that \`coppice serve\` runs there, then run the command again.`,
      );
}
