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
import { type SessionReference, toSessionReference, toShape } from "../json-shapes.ts";
import { withHome } from "../open-home.ts";
import type { Output } from "../output.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** What became of one file. */
interface ImportedFile {
  readonly file: string;
  readonly session: SessionReference;
  /** Entries written now. */
  readonly written: number;
  /** Entries that were there already. */
  readonly known: number;
  readonly skippedLines: readonly LineNote[];
  readonly skippedCount: number;
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
    withHome(context, async ({ home, workspace }) => {
      const { output } = context;
      const { paths, rejected } = await findFiles(from);
      const imported: ImportedFile[] = [];
      const report = new SaveReport(output, home);
      for (const [index, path] of paths.entries()) {
        output.showProgress(`${index + 1} of ${paths.length}: ${path}`);
        const file = await importFile(path, workspace, context, report);
        imported.push(file);
        printImported(file, output);
      }
      await report.wait(workspace);
      output.showProgress("");
      for (const { error } of rejected) output.remark(`left out: ${error.message}`);
      if (imported.some((file) => file.written > 0)) report.print();
      const failed = rejected.map(({ path, error }) => ({ file: path, error: error.message }));
      output.printJson(toShape("import", { files: imported, failed, waiting: report.waitingEntries }));
      if (failed.length > 0) {
        const total = paths.length + failed.length;
        throw new SessionError(
          "invalid_session",
          `${failed.length} of ${total} files are no sessions that can be read; the rest is imported.`,
        );
      }
    }),
});

async function findFiles(from: string): Promise<{ paths: string[]; rejected: readonly RejectedPath[] }> {
  if (from === standardInput || !(await isFolder(from))) return { paths: [from], rejected: [] };
  const { files, rejected } = await findSessionFiles(from);
  if (files.length === 0) {
    const reason =
      rejected[0]?.error.message ?? "it has no .jsonl file; name the folder in which the agent keeps its sessions.";
    throw new SessionError("not_found", `There is no session in ${from}: ${reason}`);
  }
  return { paths: files.map(({ path }) => path), rejected };
}

/** False too for a path that is not there: reading it says so. */
async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

async function importFile(
  path: string,
  workspace: Workspace,
  context: CommandContext,
  report: SaveReport,
): Promise<ImportedFile> {
  const file = await readSessionFile(path === standardInput ? context.stdin : path);
  try {
    const { session, written, known } = await workspace.importSession(toImportSource(file, context));
    try {
      await report.wait(session);
      const name = await session.storage.getSessionName();
      const { skipped, skippedCount } = file.report;
      return {
        file: path,
        session: toSessionReference({ id: session.id, name }),
        written,
        known,
        skippedLines: skipped,
        skippedCount,
      };
    } finally {
      // A folder may hold a thousand sessions; each open one has a socket.
      await session.close();
    }
  } finally {
    await file.close();
  }
}

function toImportSource(file: SessionFile, { output }: CommandContext): ImportSource {
  const readLines = async function* (): AsyncGenerator<string> {
    let count = 0;
    for await (const { json } of file) {
      count += 1;
      if (count % 1_000 === 0) output.showProgress(`${count} entries`);
      yield json;
    }
  };
  return { headerJson: file.headerJson, lines: readLines() };
}

function printImported(
  { file, session, written, known, skippedLines, skippedCount }: ImportedFile,
  output: Output,
): void {
  const title = session.name === undefined ? session.id : `"${toPrintableLine(session.name)}"`;
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
