import type { SharedSession, Workspace } from "@coppice/client";
import { describeConnection, describeFetching, describeReplica } from "./describe-status.ts";
import { toFailure } from "./error-sentence.ts";
import { toSessionReference, toShape, toStateShape } from "./json-shapes.ts";
import type { Output } from "./output.ts";
import { toPrintableLine } from "./terminal-text.ts";
import { waitForStop } from "./wait-for-stop.ts";

/** What is printed of one subject: the relay, or a session. */
interface StatusLine {
  readonly text: string;
  readonly shape: object;
}

// One line per change would scroll away during an import; this many a second can be read.
const printIntervalMs = 200;

/**
 * Keeps every session of the workspace open, those that appear later too, and prints a line whenever one changes.
 * Settles after the signal was aborted. A session that cannot be opened is reported and does not stop the others.
 */
export async function followWorkspace(
  workspace: Workspace,
  relay: string,
  output: Output,
  stopSignal: AbortSignal,
): Promise<void> {
  const lines = new ChangingLines(output);
  const entryCountById = new Map<string, number>();
  const stops: (() => void)[] = [];
  const announceRelay = (): void =>
    lines.announce("relay", () => {
      const status = workspace.status();
      const count = workspace.listSessions().length;
      return {
        text: `relay    ${relay} · ${describeConnection(status)} · ${count} ${count === 1 ? "session" : "sessions"}`,
        shape: toShape("sync", { relay, workspace: toStateShape(status), sessions: count }),
      };
    });
  const follow = async (sessionId: string): Promise<void> => {
    const session = await workspace.openSession(sessionId);
    const announce = (): void =>
      lines.announce(sessionId, () => describeSession(workspace, session, entryCountById.get(sessionId) ?? 0));
    stops.push(
      session.storage.subscribe(({ added }) => {
        entryCountById.set(sessionId, (entryCountById.get(sessionId) ?? 0) + added.length);
        announce();
      }),
      session.subscribe(announce),
    );
    entryCountById.set(sessionId, (await session.storage.getEntries()).length);
    announce();
  };
  const followNew = (): void => {
    for (const { id } of workspace.listSessions()) {
      if (entryCountById.has(id)) continue;
      entryCountById.set(id, 0);
      follow(id).catch((error: unknown) =>
        output.remark(`session ${toPrintableLine(id)}: ${toFailure(error).sentence}`),
      );
    }
    announceRelay();
  };
  stops.push(
    workspace.subscribe((change) => {
      if (change === "sessions") followNew();
      else if (change === "device") output.remark(describeCopy(workspace.device.name));
      else announceRelay();
    }),
  );
  stops.push(
    workspace.subscribeDeletions(({ sessionId, unsent }) => {
      const listed = workspace.listSessions({ deleted: true }).find(({ id }) => id === sessionId);
      output.remark(describeDeletion(listed?.name ?? sessionId, unsent));
    }),
  );
  followNew();
  await waitForStop(stopSignal);
  for (const stop of stops) stop();
  lines.close();
}

function describeDeletion(title: string, unsent: number): string {
  const told = `"${toPrintableLine(title)}" was deleted`;
  if (unsent === 0) return told;
  return `${told}; ${unsent} of its records are on this device alone: \`coppice fork\` makes a new session of it`;
}

function describeCopy(name: string): string {
  return `this home is a copy of another one that is in use; from now on this device is "${toPrintableLine(name)}"`;
}

function describeSession(workspace: Workspace, session: SharedSession, entries: number): StatusLine {
  const status = session.status();
  const name = workspace.listSessions().find(({ id }) => id === session.id)?.name;
  const title = toPrintableLine(name ?? session.id);
  const fetching = status.relay.state === "catching-up" ? ` · ${describeFetching(status.relay)}` : "";
  return {
    text: `session  ${title} · ${entries} entries · ${describeReplica(status)}${fetching}`,
    shape: toShape("sync", {
      session: { ...toSessionReference({ id: session.id, name }), entries, ...toStateShape(status) },
    }),
  };
}

/** Prints the last state of each subject at most every `printIntervalMs`, and only when its line changed. */
class ChangingLines {
  readonly #output: Output;
  readonly #printedBySubject = new Map<string, string>();
  readonly #dueBySubject = new Map<string, () => StatusLine>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Says that a subject may have changed; `describe` is called when it is time to print. */
  announce(subject: string, describe: () => StatusLine): void {
    this.#dueBySubject.set(subject, describe);
    this.#timer ??= setTimeout(() => this.#print(), printIntervalMs);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #print(): void {
    this.#timer = undefined;
    for (const [subject, describe] of this.#dueBySubject) {
      const { text, shape } = describe();
      const printed = this.#output.json ? JSON.stringify(shape) : text;
      if (this.#printedBySubject.get(subject) === printed) continue;
      this.#printedBySubject.set(subject, printed);
      this.#output.printRaw(printed);
    }
    this.#dueBySubject.clear();
  }
}
