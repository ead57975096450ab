import type { ListSessionsOptions, SharedSession, SyncStatus, Workspace, WorkspaceSession } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { type Home, openHomeWorkspace, readHome } from "@coppice/home";
import type { CommandContext } from "./command.ts";
import { describeRefusal } from "./describe-status.ts";
import type { OpenHome } from "./opened-home.ts";
import { resolveReference } from "./resolve-reference.ts";

/** What a command waits for the relay at most, in ms: to see what is new there, and again to have its own saved there. */
export const relayWaitMs = 2_000;

/** Sessions that a command for all of them has open at a time. */
export const openSessionsLimit = 8;

/** A session that a command found by what the user typed. */
export interface FoundSession {
  readonly listed: WorkspaceSession;
  readonly session: SharedSession;
  /** False when the relay's content did not arrive in time after the session was open: what is shown is what is here. */
  readonly isFresh: boolean;
}

/**
 * Opens the home's store and workspace, hands them to `use`, and closes both whatever happens; those of a running
 * `sync` that does the command stay open. Rejects `not_found` when the home has no workspace, `storage` when it cannot
 * be read and written.
 */
export async function withHome<Value>(
  { homeFolder, offline, opened }: Pick<CommandContext, "homeFolder" | "offline" | "opened">,
  use: (opened: OpenHome) => Promise<Value>,
  cursor: "replica" | "device" = "replica",
): Promise<Value> {
  if (opened !== undefined) return use(opened);
  const home = await readHome(homeFolder);
  const { workspace, close } = await openHomeWorkspace(home, {
    offline,
    cursor,
    // Only `sync` stays to try again.
    endWaitsWhenUnreachable: cursor === "replica",
  });
  try {
    return await use({
      home,
      workspace,
      isShared: false,
      // The workspace ends waits by itself, and whoever ends the process ends them too.
      waitFor: (_connected, wait) => wait,
      assertWanted: () => undefined,
    });
  } finally {
    await close();
  }
}

/**
 * Finds the session a text names. One this device has not heard of yet is looked for once more when the relay has
 * answered. With `deleted`, one that was deleted is found when no other fits. Throws as `resolveReference`.
 */
export async function resolveSession(
  opened: OpenHome,
  reference: string,
  deleted: boolean = false,
): Promise<WorkspaceSession> {
  const { workspace } = opened;
  const resolveAmong = (options: ListSessionsOptions): WorkspaceSession =>
    resolveReference(workspace.listSessions(options), reference, "session", "`coppice sessions` lists them");
  try {
    return resolveAmong({});
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    await opened.waitFor(workspace, workspace.waitUntilSynced(relayWaitMs));
    try {
      return resolveAmong({ deleted });
    } catch (stillUnknown) {
      throw describeDeleted(workspace, reference) ?? stillUnknown;
    }
  }
}

/** What to say when the text names a session that was deleted; undefined when it names none. */
function describeDeleted(workspace: Workspace, reference: string): SessionError | undefined {
  const deleted = workspace.listSessions({ deleted: true }).filter((session) => session.deleted);
  const named = deleted.filter(({ id, name }) => id === reference || name === reference);
  const [only] = named;
  if (only === undefined) return undefined;
  return new SessionError(
    "not_found",
    `The session ${only.name ?? only.id} was deleted; \`coppice show\` still shows what of it is here, and \`coppice fork\` makes a new session of that.`,
  );
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
  const hasPlace = await opened.waitFor(session, session.waitUntilSynced(relayWaitMs));
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
  if (isFresh) await opened.waitFor(session, session.waitUntilSynced(relayWaitMs));
  // One that stays open may have a place of its own by now; another process may have moved the device.
  if (opened.isShared) await session.standWithDevice();
  opened.assertWanted();
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
