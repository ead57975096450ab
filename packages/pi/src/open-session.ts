import { basename, join } from "node:path";
import { normalizeGitRemote, type SharedSession, type WorkspaceSession } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { readGitState } from "@coppice/home";
import { findPiFile, piSessionPath } from "@coppice/storage-jsonl";
import { writePiFile } from "./pi-file.ts";
import type { OpenedPiHome } from "./pi-home.ts";
import type { OpenAnswer, OpenRequest } from "./protocol.ts";

/** What the relay is waited for when a session is not here, or not all of it, in ms. */
const fetchWaitMs = 10_000;
/** What it is waited for when something is here already: for what is new in it. */
export const newsWaitMs = 2_000;

/**
 * Brings a session of the workspace into a file that pi opens where this device stands, and moves it on first when
 * others have gone on from there in one line. Rejects `not_found`, and `not_synced` when not all of it can be had now.
 */
export async function openSession({ workspace }: OpenedPiHome, request: OpenRequest): Promise<OpenAnswer> {
  const { sessionId, cwd, sessionsFolder } = request;
  const listed = workspace.listSessions().find(({ id }) => id === sessionId);
  if (listed === undefined) throw new SessionError("not_found", `There is no session ${sessionId} in the workspace.`);
  const session = await workspace.openSession(listed.id);
  await fetchAll(session);
  const plan = await session.resume("fast-forward");
  const names = workspace.deviceNames();
  const name = basename(piSessionPath(sessionsFolder, cwd, listed.createdAt, listed.id));
  const file = request.file ?? (await findPiFile(sessionsFolder, listed.id)) ?? join(sessionsFolder, name);
  await writePiFile(session.storage, { path: file, cwd, leafId: await session.storage.getLeafId() });
  return {
    file,
    ...(plan.kind === "stay"
      ? {}
      : { movedOn: { entries: plan.entries, deviceNames: plan.deviceIds.map((id) => names.get(id) ?? id) } }),
    warnings: await compareCode(listed, cwd),
  };
}

async function fetchAll(session: SharedSession): Promise<void> {
  const waitMs = session.hasBeenFetched ? newsWaitMs : fetchWaitMs;
  await session.waitUntilSynced(waitMs);
  if (session.hasBeenFetched) return;
  throw new SessionError(
    "not_synced",
    "Not all of the session is on this device, and the relay cannot be reached now.",
  );
}

/**
 * The session that a text names: by id, by name, or by a start or end of an id that no other has. One that this device
 * has not heard of is looked for once more when the relay has answered. Rejects `not_found`.
 */
export async function findSession({ workspace }: OpenedPiHome, reference: string): Promise<string> {
  const found =
    resolve(workspace.listSessions(), reference) ??
    ((await workspace.waitUntilSynced(newsWaitMs)) ? resolve(workspace.listSessions(), reference) : undefined);
  if (found !== undefined) return found.id;
  throw new SessionError("not_found", `No session is called or starts or ends with "${reference}".`);
}

/** By id, by name, or by a start or end of an id that no other has. */
function resolve(sessions: readonly WorkspaceSession[], reference: string): WorkspaceSession | undefined {
  const exact = sessions.find(({ id }) => id === reference);
  if (exact !== undefined) return exact;
  const named = sessions.filter(({ name }) => name === reference);
  const fitting =
    named.length > 0 ? named : sessions.filter(({ id }) => id.startsWith(reference) || id.endsWith(reference));
  if (fitting.length < 2) return fitting[0];
  throw new SessionError("not_found", `"${reference}" fits ${fitting.length} sessions; give more of the id.`);
}

/** What is said when the folder holds other code than the session was about. It never keeps anybody from going on. */
async function compareCode({ gitRemote, gitCommit }: WorkspaceSession, cwd: string): Promise<string[]> {
  const { remote, commit } = await readGitState(cwd);
  if (gitRemote !== undefined && (remote === undefined || normalizeGitRemote(remote) !== normalizeGitRemote(gitRemote)))
    return [
      `The session is about ${gitRemote}, and ${cwd} is ${remote === undefined ? "no clone of it" : `a clone of ${remote}`}.`,
    ];
  if (gitCommit !== undefined && commit !== gitCommit)
    return [`The session was last at commit ${shorten(gitCommit)}, and ${cwd} is at ${shorten(commit ?? "none")}.`];
  return [];
}

function shorten(commit: string): string {
  const shownDigits = 10;
  return commit.slice(0, shownDigits);
}
