import {
  type ListSessionsOptions,
  openWorkspace,
  type SharedSession,
  type SyncStatus,
  type Workspace,
  type WorkspaceSession,
} from "@coppice/client";
import { SessionError } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import type { CommandContext } from "./command.ts";
import { describeRefusal } from "./describe-status.ts";
import { ensureWritableFolder, type Home, readHome, storeFolderOf } from "./home.ts";
import { relaySocketClass } from "./relay-socket.ts";
import { resolveReference } from "./resolve-reference.ts";

/** What a command waits for the relay at most, in ms: to see what is new there, and again to have its own saved there. */
export const relayWaitMs = 2_000;

/** Sessions that a command for all of them has open at a time. */
export const openSessionsLimit = 8;

/** A home whose workspace is open in this process. */
export interface OpenHome {
  readonly home: Home;
  readonly workspace: Workspace;
}

/** A session that a command found by what the user typed. */
export interface FoundSession {
  readonly listed: WorkspaceSession;
  readonly session: SharedSession;
  /** False when the relay's content did not arrive in time after the session was open: what is shown is what is here. */
  readonly isFresh: boolean;
}

/**
 * Opens the home's store and workspace, hands them to `use`, and closes both whatever happens. Rejects `not_found`
 * when the home has no workspace, `storage` when it cannot be read and written.
 */
export async function withHome<Value>(
  { homeFolder, offline }: Pick<CommandContext, "homeFolder" | "offline">,
  use: (opened: OpenHome) => Promise<Value>,
  cursor: "replica" | "device" = "replica",
): Promise<Value> {
  const home = await readHome(homeFolder);
  await ensureWritableFolder(storeFolderOf(homeFolder));
  const store = await openLmdbStore({ path: storeFolderOf(homeFolder) });
  try {
    const { device, workspaceKey } = home;
    const relay = offline ? undefined : home.relay;
    const workspace = await openWorkspace({
      store,
      device,
      workspaceKey,
      relay,
      webSocket: relaySocketClass,
      crypto: nodeRecordCrypto,
      cursor,
      // Only `sync` stays to try again.
      endWaitsWhenUnreachable: cursor === "replica",
    });
    try {
      return await use({ home, workspace });
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
}

/**
 * Finds the session a text names. One this device has not heard of yet is looked for once more when the relay has
 * answered. With `deleted`, one that was deleted is found when no other fits. Throws as `resolveReference`.
 */
export async function resolveSession(
  { workspace }: OpenHome,
  reference: string,
  deleted: boolean = false,
): Promise<WorkspaceSession> {
  const resolveAmong = (options: ListSessionsOptions): WorkspaceSession =>
    resolveReference(workspace.listSessions(options), reference, "session", "`coppice sessions` lists them");
  try {
    return resolveAmong({});
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    const isFresh = await workspace.waitUntilSynced(relayWaitMs);
    if (!isFresh && !deleted) throw error;
    return resolveAmong({ deleted });
  }
}

/**
 * Finds the session a text names and opens it with what the relay has, as far as that arrives in time. A session this
 * device has not heard of yet is looked for once more when the relay has answered. Throws as `resolveReference`.
 */
export async function findSession(
  opened: OpenHome,
  reference: string,
  context: CommandContext,
  deleted: boolean = false,
): Promise<FoundSession> {
  const { home, workspace } = opened;
  const listed = await resolveSession(opened, reference, deleted);
  const session = await workspace.openSession(listed.id);
  // Opening a long session may take longer than the relay is waited for, and the relay is only asked afterwards.
  const hasPlace = await session.waitUntilSynced(relayWaitMs);
  const isFresh =
    hasPlace || (session.status().relay.state === "live" && session.storage.getHeaderJson?.() !== undefined);
  if (!isFresh) remarkStale(context, home, session.status());
  return { listed, session, isFresh };
}

/**
 * As `findSession`, for a command that writes. Rejects `not_synced` when this device has never had all of the session,
 * so that it has no place in it yet.
 */
export async function findWritableSession(
  opened: OpenHome,
  reference: string,
  context: CommandContext,
  deleted: boolean = false,
): Promise<FoundSession> {
  const found = await findSession(opened, reference, context, deleted);
  const { listed, session, isFresh } = found;
  // A device that is new to a session takes its place a moment after everything has arrived.
  if (isFresh) await session.waitUntilSynced(relayWaitMs);
  if (session.hasBeenFetched) return found;
  throw new SessionError(
    "not_synced",
    `This device has not fetched all of ${listed.name ?? listed.id} yet; run \`coppice sync --once\` when the relay can be reached, then try again.`,
  );
}

/** Says on stderr why what is shown may be old; nothing when the user asked for it or there is no relay. */
export function remarkStale({ output, offline }: CommandContext, { relay }: Home, status: SyncStatus): void {
  if (offline || relay === undefined) return;
  output.remark(`${describeDelay(status)}; this is what is on this device (--offline does not wait)`);
}

function describeDelay(status: SyncStatus): string {
  const refusal = describeRefusal(status);
  if (refusal !== undefined) return refusal;
  const waited = `within ${relayWaitMs / 1000} s`;
  const { state } = status.relay;
  if (state === "offline") return "the relay cannot be reached";
  if (state === "connecting") return `the relay did not answer ${waited}`;
  return state === "live" ? "the relay does not have this session yet" : `not all that the relay has arrived ${waited}`;
}
