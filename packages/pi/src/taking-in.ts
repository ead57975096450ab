import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import type { SyncSwitches } from "@coppice/home";
import { type FoundSessionFiles, findSessionFiles, piSessionPath, readSessionFile } from "@coppice/storage-jsonl";
import type { FoundSession, SurveyAnswer, SurveyRequest, TakeInAnswer, TakingInStep, UntakenFile } from "./protocol.ts";
import { countSecrets } from "./secret-scan.ts";

/** What both halves of taking in need. */
export interface TakingInOptions {
  readonly workspace: Pick<Workspace, "listSessions" | "importSession">;
  readonly switches: Pick<SyncSwitches, "read" | "setSession">;
  /** Awaited between pieces of work: it waits as long as pi needs the machine for itself. */
  readonly rest: () => Promise<void>;
  readonly onStep: (step: TakingInStep) => void;
  /** Aborted: it ends as soon as what is written is whole. */
  readonly signal: AbortSignal;
}

/** How many sessions pi has beside the one it runs; 0 where it keeps none. Rejects `storage`. */
export async function countSessions(request: SurveyRequest): Promise<number> {
  const { files } = await findFiles(request);
  return files.filter(({ header }) => header.id !== request.exceptId).length;
}

/**
 * Looks at the sessions that pi keeps, and takes nothing in: which of them the workspace lacks, how large they are, and
 * what likely secrets they have. Sessions that were deleted in the workspace or are switched off are passed over. Rejects
 * `closed` when it is aborted, `storage` when the folder cannot be read.
 */
export async function surveySessions(request: SurveyRequest, options: TakingInOptions): Promise<SurveyAnswer> {
  const { workspace, switches, rest, onStep, signal } = options;
  const { files, rejected } = await findFiles(request);
  const listed = new Map(workspace.listSessions({ deleted: true }).map(({ id, deleted }) => [id, deleted]));
  const failed: UntakenFile[] = rejected.map(({ path, error }) => ({ file: path, reason: error.message }));
  const found: FoundSession[] = [];
  let bytes = 0;
  let known = 0;
  let passedOver = 0;
  for (const [at, { path, header }] of files.entries()) {
    if (signal.aborted) throw new SessionError("closed", "Stopped.");
    onStep({ kind: "looking", done: at, total: files.length });
    if (header.id === request.exceptId) continue;
    try {
      const { sync, from } = switches.read({ sessionId: header.id, cwd: header.cwd });
      const isOff = !sync && from !== "default";
      if (listed.get(header.id) === true || isOff) passedOver += 1;
      else {
        const { size } = await stat(path);
        const isKnown = listed.has(header.id);
        bytes += size;
        if (isKnown) known += 1;
        else found.push({ file: path, bytes: size, secrets: await countSecrets(readEntries(path), rest) });
      }
    } catch (error) {
      failed.push({ file: path, reason: toReason(error) });
    }
    await rest();
  }
  return { found, known, bytes, passedOver, failed };
}

/**
 * Takes files into the workspace, one after the other, each closed before the next, and switches their sessions on. One
 * that fails is told of, and the others go on. What is in stays in, whatever ends it: the same again takes the rest.
 */
export async function takeInFiles(files: readonly string[], options: TakingInOptions): Promise<TakeInAnswer> {
  const failed: UntakenFile[] = [];
  let taken = 0;
  let refused = 0;
  for (const [at, file] of files.entries()) {
    if (options.signal.aborted) return { taken, refused, failed, isComplete: false };
    options.onStep({ kind: "taking", done: at, total: files.length });
    try {
      refused += await takeInFile(file, options);
      taken += 1;
    } catch (error) {
      const isStopped = options.signal.aborted && error instanceof SessionError && error.code === "closed";
      if (isStopped) return { taken, refused, failed, isComplete: false };
      failed.push({ file, reason: toReason(error) });
    }
  }
  return { taken, refused, failed, isComplete: true };
}

/** Returns how many lines cannot be entries. Rejects `closed` when it is stopped before the last line. */
async function takeInFile(path: string, { workspace, switches, rest, signal }: TakingInOptions): Promise<number> {
  const file = await readSessionFile(path);
  try {
    const lines = async function* (): AsyncGenerator<string> {
      for await (const line of file.lines) {
        await rest();
        // An import that is told to stop lists the session, which would then count as known; one that fails does not.
        if (signal.aborted) throw new SessionError("closed", "Stopped.");
        yield line;
      }
    };
    const { header, headerJson } = file;
    const { session, refused } = await workspace.importSession({ headerJson, lines: lines() });
    // There may be a thousand of them, and each open one has a socket.
    await session.close();
    // Only now: a session that is switched on is mirrored as soon as pi opens it, beside what goes on here.
    if (!switches.read({ sessionId: header.id, cwd: header.cwd }).sync) switches.setSession(header.id, true);
    return refused.length + file.report.skippedCount;
  } finally {
    await file.close();
  }
}

/** pi's own folder has one for each folder it worked in; one that the user chose holds the files themselves. */
async function findFiles({ sessionsFolder, cwd }: SurveyRequest): Promise<FoundSessionFiles> {
  const isOfFolder = basename(sessionsFolder) === basename(dirname(piSessionPath("", cwd, "", "")));
  try {
    return await findSessionFiles(isOfFolder ? dirname(sessionsFolder) : sessionsFolder, { maxDepth: 1 });
  } catch (error) {
    // pi makes the folder with its first session.
    if (error instanceof SessionError && error.code === "not_found") return { files: [], rejected: [] };
    throw error;
  }
}

async function* readEntries(file: string): AsyncGenerator<unknown> {
  for await (const { entry } of await readSessionFile(file)) yield entry;
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
