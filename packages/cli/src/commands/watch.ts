import type { SharedSession } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { TaskQueue } from "@coppice/core";
import { type CliCommand, type CommandContext, defineCliCommand } from "../command.ts";
import { CommandRunner } from "../command-runner.ts";
import { describeAuthor, describeEntry, describeTime, entryMarkNotes, shownIdChars } from "../entry-line.ts";
import { toFailure } from "../error-sentence.ts";
import { readExactEntries, stringifyShape } from "../exact-json.ts";
import { type EntryListener, followAllSessions, followSession } from "../follow-entries.ts";
import { toDeviceReference, toSessionReference, toShape } from "../json-shapes.ts";
import { findSession, relayWaitMs, remarkStale, withHome } from "../open-home.ts";
import type { OpenHome } from "../opened-home.ts";
import { cutToColumns, toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";
import { waitForStop } from "../wait-for-stop.ts";

const defaultTimeoutSeconds = 60;
const maxTimeoutSeconds = 86_400;
// Ids alone are kept for those that wait; a command that is this far behind will not catch up.
const maxWaitingRuns = 10_000;
const titleColumns = 24;

/** `coppice watch`: prints each entry that comes, and hands it to a command. */
export const watchCommand: CliCommand = defineCliCommand({
  name: "watch",
  summary: "Show each entry as it comes, from any device, until stopped",
  args: {
    session: { type: "positional", required: false, description: "The session (default: all of the workspace)" },
    exec: {
      type: "string",
      description: "Run this in the shell for each entry that comes, with the entry's JSON on its standard input",
      valueHint: "CMD",
    },
    timeout: {
      type: "string",
      default: String(defaultTimeoutSeconds),
      description: "Seconds that one run of --exec may take",
      valueHint: "SECONDS",
    },
  },
  notes: [
    ...entryMarkNotes,
    "--exec: one run after another; COPPICE_SESSION, COPPICE_ENTRY and COPPICE_DEVICE hold the ids",
    "        a run that fails is reported on stderr and the next one begins",
  ],
  examples: ["coppice watch", "coppice watch 'Fix the flaky login test' --exec 'jq -r .type'"],
  run: ({ session: reference, exec, timeout }, context) =>
    withHome(
      context,
      async (opened) => {
        const { output } = context;
        const timeoutMs = parseTimeout(timeout);
        if (exec?.trim() === "") throw new UsageError("--exec is empty; write the command to run, in quotes.");
        const stopSignal = context.listenForStop();
        const runner = exec === undefined ? undefined : makeRunner(exec, timeoutMs, context);
        const printer = new EntryPrinter(opened, context, reference === undefined, runner);
        const stop = await follow(opened, reference, context, printer);
        await waitForStop(stopSignal);
        stop();
        await printer.idle();
        const leftOut = (await runner?.close()) ?? 0;
        if (leftOut > 0) output.remark(`stopped; ${leftOut} entries were not handed to the command`);
      },
      "device",
    ),
});

async function follow(
  opened: OpenHome,
  reference: string | undefined,
  context: CommandContext,
  listener: EntryListener,
): Promise<() => void> {
  const { output } = context;
  const { home, workspace } = opened;
  const announce = (count: number): void => {
    output.printJson(toShape("watch", { sessions: count }));
    if (!output.json) output.remark(`watching ${count === 1 ? "1 session" : `${count} sessions`}; Ctrl-C ends it`);
  };
  if (reference !== undefined) {
    const { session } = await findSession(opened, reference, context);
    const stop = followSession(session, listener);
    announce(1);
    return stop;
  }
  const isFresh = await workspace.waitUntilSynced(relayWaitMs);
  if (!isFresh) remarkStale(context, home, workspace.status());
  // A relay that does not answer is not waited for once more per session.
  const stop = await followAllSessions(workspace, isFresh ? relayWaitMs : 0, listener);
  announce(workspace.listSessions().length);
  return stop;
}

/** Prints entries in the order in which they are told, and hands each to the runner once it is printed. */
class EntryPrinter implements EntryListener {
  readonly #opened: OpenHome;
  readonly #context: CommandContext;
  readonly #showsTitle: boolean;
  readonly #runner: CommandRunner | undefined;
  readonly #queue = new TaskQueue();

  constructor(opened: OpenHome, context: CommandContext, showsTitle: boolean, runner: CommandRunner | undefined) {
    this.#opened = opened;
    this.#context = context;
    this.#showsTitle = showsTitle;
    this.#runner = runner;
  }

  onEntry(session: SharedSession, entry: SessionEntry): void {
    this.#queue
      .run(() => this.#print(session, entry))
      .catch((error: unknown) => {
        this.#context.output.remark(`entry ${toPrintableLine(entry.id)}: ${toFailure(error).sentence}`);
      });
  }

  onProblem(sessionId: string, error: unknown): void {
    this.#context.output.remark(`session ${toPrintableLine(sessionId)}: ${toFailure(error).sentence}`);
  }

  /** Settles when everything told so far is printed. */
  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  async #print(session: SharedSession, entry: SessionEntry): Promise<void> {
    const { output } = this.#context;
    const name = this.#opened.workspace.listSessions().find(({ id }) => id === session.id)?.name;
    const author = session.getAuthor(entry.id);
    if (output.json) {
      const [exactEntry] = await readExactEntries(session.storage, [entry]);
      const device = author === undefined ? null : toDeviceReference(author);
      output.printJson(
        toShape("watch", { session: toSessionReference({ id: session.id, name }), device, entry: exactEntry }),
      );
    } else {
      const { mark, text } = describeEntry(entry);
      const title = cutToColumns(toPrintableLine(name ?? session.id), titleColumns);
      const id = toPrintableLine(entry.id).slice(-shownIdChars).padEnd(shownIdChars);
      const start = `${id}  ${describeTime(entry)}  ${describeAuthor(author)}`;
      output.print(cutToColumns(`${start}  ${this.#showsTitle ? `${title}  ` : ""}${mark}  ${text}`, output.columns));
    }
    this.#hand(session, entry, author?.deviceId);
  }

  #hand(session: SharedSession, { id }: SessionEntry, deviceId: string | undefined): void {
    const { storage } = session;
    this.#runner?.add({
      readInput: async () => {
        const entry = await storage.getEntry(id);
        const [exactEntry] = await readExactEntries(storage, entry === undefined ? [] : [entry]);
        return `${stringifyShape(exactEntry)}\n`;
      },
      env: {
        COPPICE_SESSION: session.id,
        COPPICE_ENTRY: id,
        ...(deviceId === undefined ? {} : { COPPICE_DEVICE: deviceId }),
      },
      onFailure: (why) =>
        this.#context.output.remark(`the command for entry ${toPrintableLine(id).slice(-shownIdChars)} ${why}`),
    });
  }
}

/** What commands write to stdout goes there too, except with `--json`, which is for this command's own lines. */
function makeRunner(command: string, timeoutMs: number, { output, env, homeFolder }: CommandContext): CommandRunner {
  return new CommandRunner({
    command,
    timeoutMs,
    maxWaiting: maxWaitingRuns,
    // A coppice that it runs acts on this home.
    env: { ...env, COPPICE_HOME: homeFolder },
    onLine: (stream, line) => (stream === "stdout" && !output.json ? output.printRaw(line) : output.remark(line)),
  });
}

function parseTimeout(text: string): number {
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds >= 1 && seconds <= maxTimeoutSeconds) return seconds * 1000;
  throw new UsageError(`--timeout takes a number of seconds from 1 to ${maxTimeoutSeconds}, not "${text}".`);
}
