import { existsSync } from "node:fs";
import { normalizeGitRemote, type WorkspaceSession } from "@coppice/client";
import { type GitState, OpenMarks, readGitState, SyncSwitches } from "@coppice/home";
import { findPiFile, readSessionFile, writeForPi } from "@coppice/storage-jsonl";
import { type CliCommand, type CommandContext, defineCliCommand } from "../command.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import type { OpenHome } from "../opened-home.ts";
import type { Output } from "../output.ts";
import { choosePiFile, findPiSessionsFolder } from "../pi-folders.ts";
import { parseResumePolicy, remarkResumed, resumeArg, toResumedShape } from "../resume-option.ts";
import { runPi } from "../run-pi.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** A session's file for pi, and where pi is to run. */
interface PiPlace {
  readonly file: string;
  readonly cwd: string;
}

/** `coppice open`: picks up a session in an agent on this device, where another device went on. */
export const openCommand: CliCommand = defineCliCommand({
  name: "open",
  summary: "Go on with a session in pi, in this folder or the one it has here; -- ARGS are pi's own",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    in: { type: "string", required: true, description: "The agent: pi", valueHint: "pi" },
    resume: resumeArg,
    "no-start": { type: "boolean", description: "Only write the file, and say where it is" },
  },
  passesArgs: true,
  examples: ["coppice open 'Fix the flaky login test' --in pi", "coppice open 9c1d --in pi --no-start"],
  notes: ["The session is shared from now on, as `/coppice on` in pi says."],
  run: async (args, context) => {
    const { session: reference, in: agent, resume } = args;
    // citty takes every `--no-X` for an X that is false.
    const isNotStarted = (args as { readonly start?: unknown }).start === false;
    if (agent !== "pi") throw new UsageError(`--in is "${agent}"; it can be pi.`);
    const policy = parseResumePolicy(resume);
    const { output } = context;
    const place = await withHome(context, async (opened): Promise<PiPlace> => {
      const { home, workspace } = opened;
      const { listed, session } = await findWritableSession(opened, reference, context);
      const { file, cwd, isKnown } = await findPlace(listed, context);
      // What pi wrote while nobody looked goes first, or pi would be moved away from it.
      if (isKnown) await importPiFile(file, opened);
      const plan = await session.resume(policy);
      remarkResumed(output, plan, workspace.deviceNames());
      const update = await writeForPi(session.storage, { path: file, cwd });
      // pi's next entries hang below it.
      if (update.marker !== undefined) await session.storage.appendJson([update.marker.json]);
      await workspace.setLocals(listed.id, { cwd });
      new SyncSwitches(home.folder).setSession(listed.id, true);
      remarkGit(listed, await readGitState(cwd), output);
      for (const { pid } of new OpenMarks(home.folder).list(listed.id))
        output.remark(`pi has this session open already (process ${pid}); it does not see what another one adds`);
      if (update.leftOut.length > 0)
        output.remark(`${update.leftOut.length} entries are left out: what they continue is not on this device`);
      const report = new SaveReport(output, opened);
      await report.wait(session);
      output.print(file);
      output.printJson(
        toShape("open", {
          session: toSessionReference(listed),
          file,
          cwd,
          leafId: update.leafId,
          added: update.added.length,
          waiting: report.waitingEntries,
          ...toResumedShape(plan),
        }),
      );
      return { file, cwd };
    });
    if (isNotStarted || output.json) return;
    context.setExitCode(await runPi(place.file, context.passedArgs, place.cwd));
  },
});

/** The file pi has for the session already, and the folder it belongs to; else a new one for the folder at hand. */
async function findPlace(listed: WorkspaceSession, { env }: CommandContext): Promise<PiPlace & { isKnown: boolean }> {
  const cwd = process.cwd();
  const folder = await findPiSessionsFolder(cwd, env);
  const known = await findPiFile(folder.path, listed.id);
  if (known === undefined) return { file: choosePiFile(folder, cwd, listed), cwd, isKnown: false };
  const file = await readSessionFile(known);
  await file.close();
  const recorded = file.header.cwd;
  return { file: known, cwd: recorded && existsSync(recorded) ? recorded : cwd, isKnown: true };
}

async function importPiFile(path: string, { workspace }: OpenHome): Promise<void> {
  const file = await readSessionFile(path);
  try {
    await workspace.importSession({ headerJson: file.headerJson, lines: file.lines });
  } finally {
    await file.close();
  }
}

/** Says what the session was recorded with, where this folder is another repository or has another commit. */
function remarkGit({ gitRemote, gitCommit }: WorkspaceSession, here: GitState, output: Output): void {
  if (gitRemote !== undefined && (!here.remote || normalizeGitRemote(here.remote) !== normalizeGitRemote(gitRemote))) {
    const found = here.remote === undefined ? "no repository with a remote" : here.remote;
    output.remark(`the session is about ${toPrintableLine(gitRemote)}; in this folder is ${toPrintableLine(found)}`);
  } else if (gitCommit !== undefined && here.commit !== gitCommit) {
    const found = here.commit ?? "none";
    output.remark(`the session was at commit ${toPrintableLine(gitCommit)}; in this folder it is ${found}`);
  }
}
