import { InMemorySessionStorage, type SessionEntry } from "@coppice/core";
import type { SessionManager } from "pi-coding-agent-1-6";
import { expect, it } from "vitest";
import { readContext, readLabels } from "./coppice-reading.ts";
import { PiSessionManager } from "./pi-readers.ts";
import { Random } from "./random.ts";

const seed = Number(process.env.SIM_SEED ?? 20_261_201);
const steps = 1_000;

type Operation = (pi: SessionManager, random: Random) => unknown;

const operations: readonly [weight: number, run: Operation][] = [
  [30, (pi, random) => pi.appendMessage(createMessage(random))],
  [3, (pi, random) => pi.appendThinkingLevelChange(random.of(["off", "low", "high"]))],
  [3, (pi, random) => pi.appendModelChange("faux", random.of(["plain", "thinker"]))],
  [3, (pi, random) => pi.appendUsage("cache_warm", "faux", "plain", {} as never, random.of([undefined, "note"]))],
  [
    5,
    (pi, random) =>
      pi.appendCompaction(random.text(), random.bool(0.2) ? null : pickFromBranch(pi, random), 9, random.data()),
  ],
  [3, (pi, random) => pi.appendCustomEntry("note", random.data())],
  [4, (pi, random) => pi.appendCustomMessageEntry("note", random.text(), random.bool(0.5), random.data())],
  [4, (pi, random) => pi.appendLabelChange(pickFromBranch(pi, random), random.of(["here", " there ", "", undefined]))],
  [2, (pi, random) => pi.appendSessionInfo(random.of(["work", "two\nlines", ""]))],
  [8, (pi, random) => pi.appendContextEdit(pickFromBranch(pi, random), createReplacement(random))],
  [6, (pi, random) => pi.branch(random.of(pi.getEntries()).id)],
  [1, (pi) => pi.resetLeaf()],
  [4, (pi, random) => pi.branchWithSummary(random.of([random.of(pi.getEntries()).id, null]), random.text())],
];

function createMessage(random: Random): never {
  const text = random.text();
  const content = random.of<unknown>([text, [{ type: "text", text }]]);
  return random.of<unknown>([
    { role: "system", content: text, timestamp: 1 },
    { role: "user", content, timestamp: 2 },
    { role: "user", content, timestamp: 2 },
    { role: "user", content: null, timestamp: 2 },
    { role: "assistant", content: [{ type: "text", text }], provider: "faux", model: "plain", timestamp: 3 },
    { role: "assistant", content: [], provider: "faux", model: "thinker", timestamp: 3 },
    { role: "toolResult", toolCallId: "call", toolName: "read", content: [{ type: "text", text }], timestamp: 4 },
    {
      role: "bashExecution",
      command: "ls",
      output: text,
      exitCode: 0,
      cancelled: false,
      truncated: false,
      timestamp: 5,
    },
  ]) as never;
}

function createReplacement(random: Random): never {
  const text = random.text();
  return random.of<unknown>([null, { content: text }, { content: [{ type: "text", text }] }]) as never;
}

/** An entry of the branch, mostly of its last ones. */
function pickFromBranch(pi: SessionManager, random: Random): string {
  const branch = pi.getBranch();
  return random.of(random.bool(0.7) ? branch.slice(-12) : branch)?.id ?? "nobody";
}

it("[PI10] what the coding agent 1.6 writes gives the same contexts, labels and name in Coppice", async () => {
  const random = new Random(seed);
  const pi = PiSessionManager.inMemory("/");
  const storage = new InMemorySessionStorage();
  const choices = operations.flatMap(([weight, run]) => Array.from({ length: weight }, () => run));
  let refusals = 0;
  pi.appendMessage({ role: "user", content: "first", timestamp: 1 });
  for (let step = 1; step <= steps; step++) {
    try {
      random.of(choices)(pi, random);
    } catch (error) {
      // Wrong targets are refused by pi itself; nothing is written then.
      if (!(error instanceof Error) || !/Entry .* (not found|is not on|does not contribute)/.test(error.message))
        throw error;
      refusals++;
    }
    const known = (await storage.getEntries()).length;
    for (const entry of pi.getEntries().slice(known)) await storage.appendEntry(entry as SessionEntry);
    const context = JSON.parse(JSON.stringify(pi.buildSessionContext()));
    const branch = await storage.getPathToRoot(pi.getLeafId());
    expect(readContext(branch, "1.6"), `seed ${seed}, step ${step}`).toEqual(context);
  }
  expect(await storage.getSessionName()).toBe(pi.getSessionName());
  for (const { id } of pi.getEntries()) expect(await storage.getLabel(id)).toBe(pi.getLabel(id)?.trim());
  expect(Object.keys(await readLabels(storage)).length).toBeGreaterThan(5);
  expect((await storage.findEntries("context_edit")).length).toBeGreaterThan(20);
  expect((await storage.findEntries("compaction")).length).toBeGreaterThan(20);
  expect(refusals).toBeGreaterThan(0);
});
