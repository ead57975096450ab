import {
  openWorkspace,
  type ReplicaStatus,
  type SharedSession,
  type Workspace,
  type WorkspaceSession,
} from "@coppice/client";
import { SessionError } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import type { CommandContext } from "./command.ts";
import { describeRefusal } from "./describe-status.ts";
import { ensureWritableFolder, type Home, readHome, storeFolderOf } from "./home.ts";
import { relaySocketClass } from "./relay-socket.ts";
import { resolveReference } from "./resolve-reference.ts";

/** What a command waits for the relay at most, in ms: to see what is new there, and again to have its own saved there. */
export const relayWaitMs = 2_000;

/** A home whose workspace is open in this process. */
export interface OpenHome {
  readonly home: Home;
  readonly workspace: Workspace;
}

/** A session that a command found by what the user typed. */
export interface FoundSession {
  readonly listed: WorkspaceSession;
  readonly session: SharedSession;
  /** False when the relay's content did not arrive in time: what is shown is what is on this device. */
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
    const workspace = await openWorkspace({ store, device, workspaceKey, relay, webSocket: relaySocketClass, cursor });
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
 * Finds the session a text names and opens it with what the relay has, as far as that arrives in time. A session this
 * device has not heard of yet is looked for once more when the relay has answered. Throws as `resolveReference`.
 */
export async function findSession(
  { home, workspace }: OpenHome,
  reference: string,
  context: CommandContext,
): Promise<FoundSession> {
  const deadlineMs = performance.now() + relayWaitMs;
  const restMs = (): number => Math.max(0, deadlineMs - performance.now());
  const resolve = (): WorkspaceSession =>
    resolveReference(workspace.listSessions(), reference, "session", "`coppice sessions` lists them");
  let listed: WorkspaceSession;
  try {
    listed = resolve();
  } catch (error) {
    if (!(error instanceof SessionError) || !(await workspace.waitUntilSynced(restMs()))) throw error;
    listed = resolve();
  }
  const session = await workspace.openSession(listed.id);
  const isFresh = await session.waitUntilSynced(restMs());
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
): Promise<FoundSession> {
  const found = await findSession(opened, reference, context);
  try {
    await found.session.storage.getLeafId();
    return found;
  } catch (error) {
    if (!(error instanceof SessionError) || error.code !== "not_synced") throw error;
    throw new SessionError(
      "not_synced",
      `This device has not fetched all of ${found.listed.name ?? found.listed.id} yet; run \`coppice sync --once\` when the relay can be reached, then try again.`,
      { cause: error },
    );
  }
}

/** Says on stderr why what is shown may be old; nothing when the user asked for it or there is no relay. */
export function remarkStale({ output, offline }: CommandContext, { relay }: Home, status: ReplicaStatus): void {
  if (offline || relay === undefined) return;
  const reason = describeRefusal(status) ?? `the relay did not answer within ${relayWaitMs / 1000} s`;
  output.remark(`${reason}; this is what is on this device (--offline does not wait)`);
}
