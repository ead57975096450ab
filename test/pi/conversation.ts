import type { AgentHarness, AgentMessage, AgentTool } from "pi-agent-core-0-80";
import { Type } from "pi-ai-0-80";
import type { ScriptedModel } from "./scripted-model.ts";
import type { LockstepSession, Subject } from "./subject.ts";

/** What one step of the conversation came to, with all that could be seen after it. */
export interface ConversationStep {
  readonly name: string;
  readonly outcome: { readonly value?: unknown; readonly code?: string; readonly message?: string };
  readonly requests: readonly unknown[];
  /** The entries the step added. */
  readonly added: readonly { readonly type: string }[];
  readonly leaf: unknown;
  readonly context: unknown;
}

/** Makes a harness on a session; called again after the session was reopened. */
export type CreateHarness = (session: LockstepSession, tools: AgentTool[]) => AgentHarness;

/** The harness of a step, its session, and where earlier entries are. */
interface Stage {
  readonly harness: AgentHarness;
  readonly session: LockstepSession;
  readonly model: ScriptedModel;
  /** The id of the n-th entry whose JSON holds a text; the last one unless told. */
  find(text: string, nth?: number): Promise<string>;
}

type Step = readonly [name: string, run: (stage: Stage) => unknown];

const write = (path: string, text: string): string => `tool write ${JSON.stringify({ path, text })}`;
const read = (path: string): string => `tool read ${JSON.stringify({ path })}`;
/** About 12,000 tokens: two of them are more than a compaction keeps. */
const longText = "All work and no play makes Jack a dull boy. ".repeat(1_100);

/** A conversation of all that the harness does to a session. */
const steps: readonly Step[] = [
  ["first words", ({ harness }) => harness.prompt("hello")],
  ["a tool", ({ harness }) => harness.prompt(write("src/a.ts", "const a = 1;"))],
  ["another tool", ({ harness }) => harness.prompt(read("src/a.ts"))],
  ["two tools at once", ({ harness }) => harness.prompt(`${read("src/a.ts")}\n${write("src/b.ts", "木")}`)],
  ["a tool that fails", ({ harness }) => harness.prompt(read("src/none.ts"))],
  ["a tool that does not exist", ({ harness }) => harness.prompt("tool fly {}")],
  ["a provider that fails", ({ harness }) => harness.prompt("fail quota exceeded")],
  ["a label", async ({ session, find }) => session.appendLabel(await find("const a = 1;", 0), " the edit ")],
  ["a name", ({ session }) => session.appendSessionName("Scripted\nconversation")],
  ["thinking level", ({ harness }) => harness.setThinkingLevel("high")],
  ["model", ({ harness, model }) => harness.setModel(model.getModel("thinker"))],
  ["thinking aloud", ({ harness }) => harness.prompt("what now?")],
  ["fewer tools", ({ harness }) => harness.setActiveTools(["read"])],
  ["a tool that was put away", ({ harness }) => harness.prompt(write("src/c.ts", "no"))],
  ["a tool nobody has", ({ harness }) => harness.setActiveTools(["fly"])],
  ["all tools", ({ harness }) => harness.setActiveTools(["read", "write", "meddle", "wait"])],
  ["a message of the application", ({ harness }) => harness.appendMessage(bashMessage("ls -l"))],
  [
    "a note for the model",
    ({ session }) => session.appendCustomMessageEntry("note", "mind the gap", true, { by: "test" }),
  ],
  ["a note for the next turn", ({ harness }) => harness.nextTurn("by the way")],
  ["the next turn", ({ harness }) => harness.prompt("go on")],
  ["changes in the middle of a run", ({ harness }) => harness.prompt("tool meddle {}")],
  [
    "two prompts at once",
    ({ harness }) => Promise.allSettled([harness.prompt("one"), harness.prompt("two")]).then(toTexts),
  ],
  ["a run that is aborted", ({ harness }) => abortedRun(harness)],
  ["back without a summary", async ({ harness, find }) => harness.navigateTree(await find("done write"))],
  ["another branch", ({ harness }) => harness.prompt("the other way")],
  ["back to a user message", async ({ harness, find }) => harness.navigateTree(await find("const a = 1;", 0))],
  ["a third branch", ({ harness }) => harness.prompt(read("src/b.ts"))],
  ["where it stands already", async ({ harness, session }) => harness.navigateTree((await session.getLeafId()) ?? "")],
  [
    "back with a summary",
    async ({ harness, find }) => harness.navigateTree(await find("what now?"), { summarize: true }),
  ],
  ["after the summary", ({ harness }) => harness.prompt("so far so good")],
  ["an entry nobody has", ({ harness }) => harness.navigateTree("nobody")],
  ["a compaction of little", ({ harness }) => harness.compact().then(({ tokensBefore }) => tokensBefore)],
  ["a long answer", ({ harness }) => harness.prompt(`${write("src/long.ts", longText)}\n${read("src/b.ts")}`)],
  ["another long answer", ({ harness }) => harness.prompt(read("src/long.ts"))],
  ["compaction", ({ harness }) => harness.compact("mind the names")],
  ["after the compaction", ({ harness }) => harness.prompt("still there?")],
  [
    "a turn that is split",
    ({ harness }) => harness.prompt(`${read("src/long.ts")}\n${read("src/long.ts")}\n${read("src/a.ts")}`),
  ],
  ["a second compaction", ({ harness }) => harness.compact()],
  ["nothing left to compact", ({ harness }) => harness.compact()],
  ["after both", ({ harness }) => harness.prompt("and now?")],
  [
    "back before the compactions",
    async ({ harness, find }) => harness.navigateTree(await find("so far so good"), { summarize: true }),
  ],
  ["after going back", ({ harness }) => harness.prompt("once more")],
  ["a leaf that another program lost", ({ session }) => appendLostLeaf(session)],
  ["a prompt without a leaf", ({ harness }) => harness.prompt("where am I?")],
  ["a compaction without a leaf", ({ harness }) => harness.compact()],
  ["going elsewhere without a leaf", async ({ harness, find }) => harness.navigateTree(await find("hello", 0))],
  ["a model without a leaf", ({ harness, model }) => harness.setModel(model.getModel("plain"))],
  ["the leaf found again", async ({ session, find }) => session.getStorage().setLeafId(await find("once more"))],
  ["at last", ({ harness }) => harness.prompt("at last")],
];

/** Where, in the order of the steps, the session is read again from where it is kept. */
const reopenedBefore: ReadonlySet<string> = new Set(["another branch", "after the compaction", "at last"]);

/** Plays the conversation on a session and tells what every step came to. Sets the clock by `beforeStep`. */
export async function playConversation(
  subject: Subject,
  model: ScriptedModel,
  createHarness: CreateHarness,
  beforeStep: (step: number) => void,
): Promise<ConversationStep[]> {
  const tools = createTools((): AgentHarness => harness);
  let harness = createHarness(subject.session, tools);
  const { id } = await subject.session.getStorage().getMetadata();
  const played: ConversationStep[] = [];
  for (const [index, [name, run]] of steps.entries()) {
    beforeStep(index);
    if (reopenedBefore.has(name)) {
      await subject.reopen();
      const reopened = createHarness(subject.session, tools);
      await reopened.setModel(harness.getModel());
      harness = reopened;
    }
    const [firstEntry, firstRequest] = [subject.ids.length, model.requests.length];
    const find = (text: string, nth = -1): Promise<string> => findEntry(subject, text, nth);
    const view = await subject.see(() => run({ harness, session: subject.session, model, find }), firstEntry);
    const requests = model.requests.slice(firstRequest).map(({ sessionId, ...request }) => ({
      ...request,
      // pi makes up an id for a request beside the conversation.
      isOfSession: sessionId === id,
    }));
    played.push({
      name,
      outcome: JSON.parse(view.outcome),
      requests: JSON.parse(subject.describe(requests)),
      added: JSON.parse(view.entries),
      leaf: JSON.parse(view.leaf),
      context: JSON.parse(view.context),
    });
  }
  return played;
}

async function findEntry({ session }: Subject, text: string, nth: number): Promise<string> {
  const matches = (await session.getEntries()).filter((entry) =>
    JSON.stringify(entry).includes(JSON.stringify(text).slice(1, -1)),
  );
  const found = matches.at(nth)?.id;
  if (found === undefined) throw new Error(`No entry holds "${text}"`);
  return found;
}

/** Tools on files that exist for the length of one conversation, one that changes the harness, one that only ends. */
function createTools(getHarness: () => AgentHarness): AgentTool[] {
  const files = new Map<string, string>();
  const tool = (
    name: string,
    parameters: AgentTool["parameters"],
    run: (params: { path: string; text: string }, signal?: AbortSignal) => string | Promise<string>,
  ): AgentTool => ({
    name,
    label: name,
    description: `The tool ${name}`,
    parameters,
    execute: async (_id, params, signal) => ({
      content: [{ type: "text", text: await run(params as { path: string; text: string }, signal) }],
      details: { tool: name },
    }),
  });
  return [
    tool("read", Type.Object({ path: Type.String() }), ({ path }) => {
      const text = files.get(path);
      if (text === undefined) throw new Error(`${path} does not exist`);
      return text;
    }),
    tool("write", Type.Object({ path: Type.String(), text: Type.String() }), ({ path, text }) => {
      files.set(path, text);
      return `${text.length} characters written`;
    }),
    tool("meddle", Type.Object({}), async () => {
      const harness = getHarness();
      await harness.setThinkingLevel("low");
      await harness.setActiveTools(["read", "write", "wait"]);
      await harness.appendMessage(bashMessage("uptime"));
      await harness.steer("by the left");
      await harness.followUp("and then home");
      return "meddled";
    }),
    tool("wait", Type.Object({}), async (_params, signal) => {
      await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
      throw new Error("interrupted");
    }),
  ];
}

/** Starts a run that would never end and aborts it when its tool is at work. */
async function abortedRun(harness: AgentHarness): Promise<unknown> {
  const started = new Promise<void>((resolve) => {
    const stop = harness.subscribe((event) => {
      if (event.type !== "tool_execution_start") return;
      stop();
      resolve();
    });
  });
  const run = harness.prompt("tool wait {}");
  await Promise.race([started, run]);
  // After the event, so that the tool listens by then.
  await new Promise((resolve) => setImmediate(resolve));
  return [await harness.abort(), await run];
}

async function appendLostLeaf(session: LockstepSession): Promise<void> {
  const storage = session.getStorage();
  const id = await storage.createEntryId();
  const timestamp = "2026-01-02T03:04:05.678Z";
  await storage.appendEntry({ type: "leaf", id, parentId: await storage.getLeafId(), timestamp, targetId: "nobody" });
}

function bashMessage(command: string): AgentMessage {
  const result = { output: "ok\n", exitCode: 0, cancelled: false, truncated: false };
  return { role: "bashExecution", command, ...result, timestamp: Date.UTC(2026, 0, 2) };
}

function toTexts(results: PromiseSettledResult<unknown>[]): unknown {
  return results.map((result) =>
    result.status === "fulfilled" ? result : { code: result.reason.code, message: result.reason.message },
  );
}
