import { stat } from "node:fs/promises";
import type { ImportSource, Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import {
  findSessionFiles,
  type LineNote,
  type RejectedPath,
  readSessionFile,
  type SessionFile,
} from "@coppice/storage-jsonl";
import { type CliCommand, type CommandContext, defineCliCommand } from "../command.ts";
import { toFailure } from "../error-sentence.ts";
import { type SessionReference, toSessionReference, toShape } from "../json-shapes.ts";
import { withHome } from "../open-home.ts";
import type { Output } from "../output.ts";
import { ReadingStopped, readUntilStopped } from "../read-until-stopped.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** What became of one file, as `--json` prints it. */
interface ImportedFile {
  readonly file: string;
  readonly session: SessionReference;
  /** Entries written now. */
  readonly written: number;
  /** Entries that were there already. */
  readonly known: number;
  /** It was stopped before the end of the file; absent otherwise. */
  readonly isComplete?: false;
  readonly skippedLines: readonly LineNote[];
  readonly skippedCount: number;
}

/** A file that was not imported. */
interface FailedFile {
  readonly file: string;
  /** One sentence. */
  readonly error: string;
}

/** What the files of one command came to. */
interface ImportOutcome {
  readonly imported: ImportedFile[];
  readonly failed: FailedFile[];
  /** Entries that were read and cannot be shared: where they stand and why. */
  readonly refused: string[];
}

const standardInput = "-";

/** `coppice import`: brings session files into the workspace; what is there already is left out. */
export const importCommand: CliCommand = defineCliCommand({
  name: "import",
  summary: "Bring session files in; importing a file again adds only what is new in it",
  args: {
    from: {
      type: "positional",
      required: true,
      description: "A session file, a folder with session files, or - for standard input",
    },
  },
  examples: ["coppice import session.jsonl", "coppice import ~/.pi/agent/sessions"],
  run: ({ from }, context) =>
    withHome(context, async (opened) => {
      const { workspace } = opened;
      const { output } = context;
      const signal = context.listenForStop();
      const { paths, rejected, isFolder } = await findFiles(from);
      const outcome: ImportOutcome = { imported: [], failed: [], refused: [] };
      const report = new SaveReport(output, opened);
      for (const [index, path] of paths.entries()) {
        if (signal.aborted) break;
        output.showProgress(`${index + 1} of ${paths.length}: ${path}`);
        try {
          await importFile(path, workspace, { ...context, signal }, report, outcome);
        } catch (error) {
          // A single file's own error says more than a count; in a folder the other files go on.
          if (!isFolder) throw error;
          outcome.failed.push({ file: path, error: toFailure(error).sentence });
          output.remark(`left out: ${path}: ${toFailure(error).sentence}`);
        }
      }
      output.showProgress("");
      for (const { path, error } of rejected) {
        outcome.failed.push({ file: path, error: error.message });
        output.remark(`left out: ${error.message}`);
      }
      const { imported, failed } = outcome;
      await report.wait(workspace);
      if (imported.some((file) => file.written > 0)) report.print();
      output.printJson(toShape("import", { files: imported, failed, waiting: report.waitingEntries }));
      if (signal.aborted) throwIfStopped(outcome, paths.length);
      throwIfIncomplete(outcome);
    }),
});

/** Throws `closed` with one sentence that says how far it came, unless nothing was left. */
function throwIfStopped({ imported, failed }: ImportOutcome, fileCount: number): void {
  const last = imported.at(-1);
  const begun = imported.length + failed.length;
  if (begun === fileCount && last?.isComplete !== false) return;
  const entries = imported.reduce((sum, file) => sum + file.written + file.known, 0);
  const files = fileCount === 1 ? "" : ` of ${begun} of ${fileCount} files`;
  throw new SessionError(
    "closed",
    `Stopped: ${entries} entries${files} are in. Run the same command again to go on; what is in stays as it is.`,
  );
}

/** Throws `invalid_session` or `invalid_entry` with one sentence that says what was left out. */
function throwIfIncomplete({ imported, failed, refused }: ImportOutcome): void {
  if (failed.length > 0) {
    throw new SessionError(
      "invalid_session",
      `${failed.length} of ${imported.length + failed.length} files could not be imported; the rest is.`,
    );
  }
  const [first] = refused;
  if (first === undefined) return;
  const count = refused.length === 1 ? "1 entry" : `${refused.length} entries`;
  throw new SessionError(
    "invalid_entry",
    `${count} cannot be shared: ${first}${refused.length === 1 ? "" : ", and others named above"}; the rest is imported.`,
  );
}

async function findFiles(
  from: string,
): Promise<{ paths: string[]; rejected: readonly RejectedPath[]; isFolder: boolean }> {
  if (from === standardInput || !(await isFolderPath(from))) return { paths: [from], rejected: [], isFolder: false };
  const { files, rejected } = await findSessionFiles(from);
  if (files.length === 0) {
    const reason =
      rejected[0]?.error.message ?? "it has no .jsonl file; name the folder in which the agent keeps its sessions.";
    throw new SessionError("not_found", `There is no session in ${from}: ${reason}`);
  }
  return { paths: files.map(({ path }) => path), rejected, isFolder: true };
}

/** False too for a path that is not there: reading it says so. */
async function isFolderPath(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

async function importFile(
  path: string,
  workspace: Workspace,
  context: CommandContext & { readonly signal: AbortSignal },
  report: SaveReport,
  outcome: ImportOutcome,
): Promise<void> {
  const { output, signal } = context;
  const file = await openFile(path, context);
  // Stopped before its header had come.
  if (file === undefined) return;
  try {
    const fileLines: number[] = [];
    let isCut = false;
    const { session, written, known, refused, isComplete } = await workspace.importSession(
      toImportSource(file, fileLines, () => {
        isCut = true;
      }),
      { signal, onProgress: (progress) => output.showProgress(`${progress.lines} entries of ${path}`) },
    );
    try {
      const name = await session.storage.getSessionName();
      const refusedLines = refused.map(({ line, reason }) => ({ line: fileLines[line - 1] ?? 0, reason }));
      const imported: ImportedFile = {
        file: path,
        session: toSessionReference({ id: session.id, name }),
        written,
        known,
        ...(isComplete && !isCut ? {} : { isComplete: false }),
        skippedLines: [...file.report.skipped, ...refusedLines].sort((left, right) => left.line - right.line),
        skippedCount: file.report.skippedCount + refusedLines.length,
      };
      outcome.imported.push(imported);
      for (const { line, reason } of refusedLines) outcome.refused.push(`${path} line ${line}, ${reason}`);
      printImported(imported, context.output);
      await report.wait(session);
    } finally {
      // A folder may hold a thousand sessions; each open one has a socket.
      await session.close();
    }
  } finally {
    await file.close();
  }
}

/** Undefined when standard input was stopped before its header had come. */
async function openFile(
  path: string,
  { stdin, signal }: { readonly stdin: CommandContext["stdin"]; readonly signal: AbortSignal },
): Promise<SessionFile | undefined> {
  try {
    return await readSessionFile(path === standardInput ? readUntilStopped(stdin, signal) : path);
  } catch (error) {
    if (error instanceof ReadingStopped) return undefined;
    throw error;
  }
}

/**
 * The file as the workspace reads it; `fileLines` gets the number of the line that each entry stands on, `onCut` is called
 * when standard input was stopped before its end.
 */
function toImportSource(file: SessionFile, fileLines: number[], onCut: () => void): ImportSource {
  const readLines = async function* (): AsyncGenerator<string> {
    try {
      for await (const { json, line } of file) {
        fileLines.push(line);
        yield json;
      }
    } catch (error) {
      if (!(error instanceof ReadingStopped)) throw error;
      onCut();
    }
  };
  return { headerJson: file.headerJson, lines: readLines() };
}

function printImported(
  { file, session, written, known, skippedLines, skippedCount }: ImportedFile,
  output: Output,
): void {
  const title = session.name === undefined ? toPrintableLine(session.id) : `"${toPrintableLine(session.name)}"`;
  const news =
    written === 0
      ? `nothing new, ${known} entries known`
      : `${written} entries${known === 0 ? "" : `, ${known} known already`}`;
  output.print(`${file}: ${title}, ${news}`);
  for (const { line, reason } of skippedLines)
    output.remark(`${file} line ${line}: skipped, ${toPrintableLine(reason)}`);
  if (skippedCount > skippedLines.length)
    output.remark(`${file}: ${skippedCount - skippedLines.length} more lines skipped`);
}
