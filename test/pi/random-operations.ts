import type { Generation } from "./pi-packages.ts";
import { Random } from "./random.ts";
import { attempt, type LockstepSession, type Subject } from "./subject.ts";

/** One operation on a session; the same for every subject, since it names entries by their place. */
export interface Operation {
  readonly name: string;
  run(subject: Subject): unknown;
}

type Make = (random: Random, generation: Generation) => Operation["run"];

const labels = ["start", "  padded ", "", "   ", undefined, "木"];
const levels = ["off", "minimal", "low", "medium", "high"];
const entryTypes = ["message", "label", "leaf", "session_info", "compaction", "branch_summary", "custom", "nothing"];

/** The operations with how often they come. */
const makers: readonly [weight: number, name: string, make: Make][] = [
  [26, "appendMessage", makeAppendMessage],
  [
    4,
    "appendThinkingLevelChange",
    (random) => on((it, level) => it.appendThinkingLevelChange(level), random.of(levels)),
  ],
  [
    4,
    "appendModelChange",
    (random) => on((it, id) => it.appendModelChange("faux", id), random.of(["plain", "thinker"])),
  ],
  [
    3,
    "appendActiveToolsChange",
    (random) => on((it, names) => it.appendActiveToolsChange(names), random.list(["a", "b", "c"])),
  ],
  [4, "appendCompaction", makeAppendCompaction],
  [
    4,
    "appendCustomEntry",
    (random) =>
      on((it, [type, data]) => it.appendCustomEntry(type, data), [
        random.of(["note", "other"]),
        random.data(),
      ] as const),
  ],
  [4, "appendCustomMessageEntry", makeAppendCustomMessage],
  [6, "appendLabel", makeAppendLabel],
  [
    3,
    "appendSessionName",
    (random) => on((it, name) => it.appendSessionName(name), random.of(["work", "two\r\nlines\n", " ", "木"])),
  ],
  [12, "moveTo", makeMoveTo],
  [3, "setLeafId", (random) => withId(random, (it, id) => it.getStorage().setLeafId(id), null)],
  [4, "getBranch", (random) => withId(random, (it, id) => it.getBranch(id), undefined)],
  [3, "getEntry", (random) => withId(random, (it, id) => it.getEntry(id), "")],
  [3, "getLabel", (random) => withId(random, (it, id) => it.getLabel(id), "")],
  [
    3,
    "findEntries",
    (random) => on((it, type) => it.getStorage().findEntries(type as "message"), random.of(entryTypes)),
  ],
  [3, "getPathToRoot", makeGetPath],
  [2, "getSessionName", () => on((it) => it.getSessionName(), undefined)],
  [3, "buildContext with options", makeBuildContext],
  [2, "appendEntry", makeAppendStrangeEntry],
  [1, "reopen", () => reopen],
];

/** What only sessions of 0.82 have. */
const newerMakers: typeof makers = [
  [3, "getSessionStats", () => on((it) => it.getSessionStats?.(), undefined)],
  [3, "getEntries from a position", makeGetEntries],
];

/** Makes an endless list of operations; the same seed gives the same. */
export function* createOperations(seed: number, generation: Generation): Generator<Operation, never, void> {
  const random = new Random(seed);
  const choices = generation === "0.82" ? [...makers, ...newerMakers] : makers;
  const weighted = choices.flatMap((choice) => Array.from({ length: choice[0] }, () => choice));
  for (;;) {
    const [, name, make] = random.of(weighted);
    yield { name, run: make(random, generation) };
  }
}

function makeAppendMessage(random: Random): Operation["run"] {
  const content = random.bool(0.3) ? random.text() : [{ type: "text", text: random.text() }];
  const timestamp = random.int(0, 2 ** 31);
  const usage = random.bool(0.8)
    ? { input: random.int(0, 900), output: 7, cacheRead: random.int(0, 50), cacheWrite: 3, cost: { total: 0.25 } }
    : { input: "many" };
  const message = random.of<object>([
    { role: "user", content, timestamp },
    { role: "user", content, timestamp },
    { role: "assistant", content, provider: "faux", model: random.of(["plain", "thinker"]), usage, timestamp },
    { role: "assistant", content: [], provider: "faux", model: "plain", stopReason: "error", errorMessage: "no" },
    { role: "toolResult", toolCallId: "call-1", toolName: "read", content, isError: random.bool(0.2), timestamp },
    { role: "bashExecution", command: "ls", output: random.text(), exitCode: 0, cancelled: false, truncated: false },
    { role: "from-the-application", anything: random.data() },
  ]);
  return on((it) => it.appendMessage(message), undefined);
}

function makeAppendCompaction(random: Random, generation: Generation): Operation["run"] {
  const newer: unknown[] = [];
  if (generation === "0.82") {
    newer.push(random.bool(0.5) ? { input: 5, output: 5, cacheRead: 0, cacheWrite: 0, cost: { total: 1 } } : undefined);
    newer.push(random.bool(0.4) ? [{ role: "user", content: random.text(), timestamp: 1 }] : undefined);
  }
  const rest = [random.int(0, 99_999), random.data(), random.of([true, false, undefined]), ...newer];
  const summary = random.text();
  const orNothing = generation === "0.82" ? undefined : "nobody";
  // Mostly near the leaf, where entries are on its branch.
  const fraction = random.bool(0.8) ? random.fraction(0.9) : random.fraction(0);
  const keepsNothing = random.bool(0.15);
  return (subject) =>
    subject.session.appendCompaction(summary, keepsNothing ? orNothing : subject.idAt(fraction), ...rest);
}

function makeAppendCustomMessage(random: Random): Operation["run"] {
  const content = random.bool(0.5) ? random.text() : [{ type: "text", text: random.text() }];
  const [display, details] = [random.bool(0.5), random.data()];
  return on((it) => it.appendCustomMessageEntry("note", content, display, details), undefined);
}

function makeAppendLabel(random: Random): Operation["run"] {
  const label = random.of(labels);
  return withId(random, (it, id) => it.appendLabel(id, label), "");
}

function makeMoveTo(random: Random): Operation["run"] {
  const summary = random.bool(0.3)
    ? { summary: random.text(), details: random.data(), fromHook: random.of([true, undefined]) }
    : undefined;
  return withId(random, (it, id) => it.moveTo(id, summary), null);
}

function makeGetPath(random: Random, generation: Generation): Operation["run"] {
  return withId(
    random,
    (it, id) =>
      generation === "0.82" ? it.getStorage().getPathToRootOrCompaction(id) : it.getStorage().getPathToRoot(id),
    null,
  );
}

function makeGetEntries(random: Random): Operation["run"] {
  const options = { afterEntrySeq: random.int(0, 400), limit: random.of([0, 1, 7, undefined]) };
  return on((it) => it.getEntries(options), undefined);
}

function makeBuildContext(random: Random): Operation["run"] {
  const [dropsEvery, isEntries] = [random.int(2, 5), random.bool(0.3)];
  const options = {
    entryTransforms: [(entries: object[]) => entries.filter((_, index) => index % dropsEvery > 0)],
    entryProjectors: {
      note: (entry: { data?: unknown }, index: number, entries: object[]) => [
        { role: "user", content: `${JSON.stringify(entry.data)} ${index} of ${entries.length}` },
      ],
    },
  };
  return on((it) => (isEntries ? it.buildContextEntries(options) : it.buildContext(options)), undefined);
}

/** Entries as only other programs write them: strange parents, labels and leaves that point nowhere, unknown types. */
function makeAppendStrangeEntry(random: Random): Operation["run"] {
  const fraction = random.fraction(0);
  const parent = random.of(["", "nobody", null, "known", "known"]);
  const [timestamp, target] = ["2026-01-02T03:04:05.678Z", random.of(["nobody", "known", null])];
  const kind = random.of(["label", "leaf", "from_the_future", "message"]);
  return async (subject) => {
    const storage = subject.session.getStorage();
    const known = (name: string | null) => (name === "known" ? subject.idAt(fraction) : name);
    const fields = {
      label: { targetId: known(target) ?? "nobody", label: "far" },
      leaf: { targetId: known(target) },
      from_the_future: { anything: [1, { two: null }] },
      message: { message: { role: "user", content: "from elsewhere" } },
    }[kind];
    const id = await storage.createEntryId();
    await storage.appendEntry({ type: kind, id, parentId: known(parent), timestamp, ...fields } as never);
  };
}

/** Not where the leaf is lost: pi's storage in memory refuses to start there, its files do not. */
async function reopen(subject: Subject): Promise<void> {
  const { message } = (await attempt(() => subject.session.getLeafId())) as { message?: string };
  if (message === undefined) await subject.reopen();
}

/** An operation on the session, with a value that was chosen beforehand. */
function on<Value>(run: (session: LockstepSession, value: Value) => unknown, value: Value): Operation["run"] {
  return ({ session }) => run(session, value);
}

/** An operation on an entry: mostly one that exists, now and then one that does not, or what stands for none. */
function withId(
  random: Random,
  run: (session: LockstepSession, id: string) => unknown,
  none: string | null | undefined,
): Operation["run"] {
  const fraction = random.bool(0.5) ? random.fraction(0.8) : random.fraction(0);
  const choice = random.of(["known", "known", "known", "known", "known", "known", "wrong", "none"]);
  return (subject) => {
    const id = choice === "none" ? none : choice === "wrong" ? "nobody" : subject.idAt(fraction);
    return run(subject.session, id as string);
  };
}
