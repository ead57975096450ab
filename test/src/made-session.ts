import { writeFileSync } from "node:fs";
import * as prng from "lib0/prng";

/**
 * Writes a session file of the shape real ones have: questions, answers with tool calls, long tool results, now and then
 * another model or thinking level, a label, a way tried and left, a compaction. It depends on the seed alone.
 */
export function writeMadeSession(path: string, entries: number, seed = 1): void {
  writeFileSync(path, makeSessionLines(entries, seed).join("\n"));
}

/** The lines of such a file, header first. */
function makeSessionLines(entries: number, seed: number): string[] {
  const random = prng.create(seed);
  let clockMs = Date.parse("2026-03-02T08:00:00.000Z");
  let leafId: string | null = null;
  /** The messages of the branch. */
  const messageIds: string[] = [];
  const time = (): string => {
    clockMs += prng.int32(random, 3, 9_000);
    return new Date(clockMs).toISOString();
  };
  const lines = [
    JSON.stringify({ type: "session", version: 3, id: makeId(random, 32), timestamp: time(), cwd: "/made" }),
  ];
  const add = (type: string, fields: object): string => {
    const id = makeId(random, 8);
    lines.push(JSON.stringify({ type, id, parentId: leafId, timestamp: time(), ...fields }));
    return id;
  };
  const say = (message: object): void => {
    leafId = add("message", { message: { ...message, timestamp: clockMs } });
    messageIds.push(leafId);
  };
  while (lines.length <= entries) {
    const kind = prng.int32(random, 0, 99);
    if (kind < 20) say({ role: "user", content: [{ type: "text", text: makeText(random, 30) }] });
    else if (kind < 50) {
      const text = makeText(random, 120);
      const call = { type: "toolCall", id: `call_${makeId(random, 12)}`, name: "bash", arguments: { command: "ls" } };
      say({ role: "assistant", content: [{ type: "text", text }, call], provider: "openrouter", model: "qwen3-coder" });
    } else if (kind < 85) {
      const text = makeText(random, 600);
      say({
        role: "toolResult",
        toolCallId: "call",
        toolName: "bash",
        content: [{ type: "text", text }],
        isError: false,
      });
    } else if (kind < 89) leafId = add("model_change", { provider: "openrouter", modelId: `qwen3-${kind}` });
    else if (kind < 92) leafId = add("thinking_level_change", { thinkingLevel: kind === 89 ? "high" : "medium" });
    else if (messageIds.length < 10) continue;
    else if (kind < 95) leafId = add("label", { targetId: pick(random, messageIds), label: makeText(random, 2) });
    else if (kind < 99) {
      const targetId = pick(random, messageIds.slice(-8));
      add("leaf", { targetId });
      messageIds.length = messageIds.indexOf(targetId) + 1;
      leafId = targetId;
    } else {
      const [firstKeptEntryId, summary] = [pick(random, messageIds.slice(-5)), makeText(random, 200)];
      leafId = add("compaction", { summary, firstKeptEntryId, tokensBefore: 50_000 });
    }
  }
  return lines;
}

const words = "the test fails because port already taken run it again with const await import harbor login shop".split(
  " ",
);

function makeText(random: prng.PRNG, maxWords: number): string {
  return Array.from({ length: prng.int32(random, 1, maxWords) }, () => pick(random, words)).join(" ");
}

function makeId(random: prng.PRNG, digits: number): string {
  return Array.from({ length: digits }, () => prng.int32(random, 0, 15).toString(16)).join("");
}

function pick<Item>(random: prng.PRNG, items: readonly Item[]): Item {
  return prng.oneOf(random, items as Item[]);
}
