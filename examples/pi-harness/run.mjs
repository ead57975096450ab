/**
 * pi's own agent harness (pi-agent-core 0.80) holds a conversation on each of Coppice's storages: tools, branches, a
 * branch summary, a compaction. The session is then read again from where it is kept and must be the same.
 * Run: `node examples/pi-harness/run.mjs`, after a build.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { withErrorClass } from "@coppice/core";
import { AgentHarness, Session, SessionError } from "@earendil-works/pi-agent-core";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";
import { Type } from "@earendil-works/pi-ai";
import { createFauxModel } from "./model.mjs";
import { createStorage, storageKinds } from "./storage.mjs";

/** About 25,000 tokens, more than a compaction keeps. */
const longText = "All work and no play makes Jack a dull boy. ".repeat(2_300);

/** Runs the conversation on every kind of storage and tells what came of it; rejects when anything is not as it must be. */
export async function runExample(print = console.log) {
  for (const kind of storageKinds) {
    const place = await createStorage(kind);
    try {
      print(`${kind.padEnd(8)} ${await holdConversation(place)}`);
    } finally {
      await place.close();
    }
  }
}

async function holdConversation(place) {
  const { models, model, requests } = createFauxModel();
  const files = new Map();
  const startHarness = () => {
    // This is all that it takes: pi's session on a Coppice storage. pi looks for its own error class.
    const session = new Session(withErrorClass(place.storage, SessionError));
    const env = new NodeExecutionEnv({ cwd: process.cwd() });
    return { session, harness: new AgentHarness({ env, session, models, model, tools: createTools(files) }) };
  };

  const { session, harness } = startHarness();
  await harness.prompt("Hello");
  await harness.prompt('tool write {"path":"plan.md","text":"1. listen"}');
  const planned = await session.getLeafId();
  await harness.prompt("Which way?");
  await harness.prompt('tool read {"path":"no-such-file"}');

  // Back to where the plan was written: what follows grows beside "Which way?".
  await harness.navigateTree(planned);
  await harness.prompt("The other way!");
  await session.appendLabel(await session.getLeafId(), "the other way");
  const { summaryEntry } = await harness.navigateTree(planned, { summarize: true });
  assert.equal(summaryEntry?.type, "branch_summary");
  await harness.prompt(`tool write ${JSON.stringify({ path: "novel.md", text: longText })}`);
  await harness.prompt('tool read {"path":"novel.md"}');
  const before = await session.buildContext();
  const { summary } = await harness.compact();
  await harness.prompt("Where were we?");

  const context = await session.buildContext();
  assert.ok(context.messages.length < before.messages.length, "the compaction shortened the context");
  assert.ok(
    JSON.stringify(requests.at(-1)).includes(JSON.stringify(summary).slice(1, -1)),
    "the model got its summary",
  );

  // Off and on again: the same session, at the same place.
  const entries = await session.getEntries();
  await place.settle();
  await place.reopen();
  const again = startHarness();
  assert.deepEqual(await again.session.getEntries(), entries);
  assert.deepEqual(toJson(await again.session.buildContext()), toJson(context));
  await again.harness.prompt("And so it goes on");
  assert.ok(requests.at(-1).length > requests.at(-2).length, "the conversation went on where it was");

  // What a storage refuses, the harness reports as pi's own session error.
  await place.storage.close();
  await assert.rejects(again.harness.setThinkingLevel("high"), { code: "session", message: /closed/ });

  const count = (type) => entries.filter((entry) => entry.type === type).length;
  assert.deepEqual([count("compaction"), count("branch_summary"), count("leaf"), count("label")], [1, 1, 2, 1]);
  return `${requests.length} requests, ${entries.length} entries, read again: the same`;
}

/** Two tools on files in memory; their names and `path` are those that pi's summaries list. */
function createTools(files) {
  const say = (text) => ({ content: [{ type: "text", text }], details: undefined });
  return [
    {
      name: "write",
      label: "Write",
      description: "Writes a file",
      parameters: Type.Object({ path: Type.String(), text: Type.String() }),
      async execute(_id, { path, text }) {
        files.set(path, text);
        return say(`${text.length} characters written`);
      },
    },
    {
      name: "read",
      label: "Read",
      description: "Reads a file",
      parameters: Type.Object({ path: Type.String() }),
      async execute(_id, { path }) {
        if (!files.has(path)) throw new Error(`${path} does not exist`);
        return say(files.get(path));
      },
    },
  ];
}

/** What of a value can be kept: fields that are undefined are left out. */
function toJson(value) {
  return JSON.parse(JSON.stringify(value));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runExample();
