import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { type ModelRequest, type PiHome, readModelRequests } from "./pi-home.ts";
import { type OpeningWay, type PiLab, readPiFile, waitUntilLive, withoutMoves } from "./pi-lab.ts";
import type { PiProcess, PiRecord } from "./pi-process.ts";

/** How far another device may be behind, in ms. */
const longestDelayMs = 1_000;

/**
 * A session of pi's on one device is followed by another, entry by entry; then the first is destroyed, and pi goes on
 * with it on a third, whose model is sent what the first one's would have been. Returns the figures.
 */
export async function handOver(lab: PiLab, way: OpeningWay): Promise<string> {
  // As small a session is compacted only by one who keeps little.
  const settings = { compaction: { keepRecentTokens: 1 } };
  const laptop = await lab.addDevice("laptop", settings);
  const phone = await lab.addDevice("phone");
  const desktop = await lab.addDevice("desktop", settings);

  const pi = await lab.start(laptop);
  await pi.prompt("/coppice on");
  await pi.prompt("first");
  await waitUntilLive(pi);
  await lab.sync(phone);
  const watch = await lab.watch(phone);
  const known = new Set(idsOf(await pi.call("get_entries")));
  await workInEveryWay(pi);
  const left = await pi.call("get_entries");
  const followed = idsOf(left).filter((id) => !known.has(id));
  await watch.waitForAll(followed);
  const delays = followed.map((id) => watch.delaysMs.get(id) ?? Number.NaN).sort((one, other) => one - other);
  const most = delays.at(-1) ?? Number.NaN;
  assert.ok(most <= longestDelayMs, `an entry came ${most} ms after pi had made it`);
  const { id: sessionId, lines } = await readPiFile(laptop);
  assert.deepEqual(withoutMoves(await lab.readTexts(phone, sessionId)), lines.slice(1), "the phone's log");

  const expected = await askAsBefore(lab, await lab.copyPi(laptop, "copy"));
  await pi.kill();
  await rm(laptop.folder, { recursive: true });

  const next = await lab.open(desktop, sessionId, way);
  assert.equal((await next.call("get_state")).sessionId, sessionId);
  await next.prompt(lastPrompt);
  const sent = withoutLastTime((await readModelRequests(desktop)).at(-1));
  assert.deepEqual(sent, expected, "what the desktop's model is sent");

  // What pi says there flows back, below what was there.
  const after = await next.call("get_entries");
  await watch.waitForAll([after.leafId]);
  await waitUntilLive(next);
  const texts = withoutMoves(await lab.readTexts(phone, sessionId));
  assert.deepEqual(texts.slice(0, lines.length - 1), lines.slice(1), "what was there");
  assertOneTree(texts);
  assert.equal(await next.stop(), 0);
  const median = delays[Math.floor(delays.length / 2)];
  return `${followed.length} entries came to the phone while pi worked, after ${median} ms (median), ${most} ms at most; laptop destroyed, desktop's model is sent the same ${sent.messages.length} messages`;
}

const lastPrompt = "go on from here";

/** Everything of pi that leaves entries of a kind of its own. */
async function workInEveryWay(pi: PiProcess): Promise<void> {
  await pi.prompt('tool bash {"command":"echo from the tool"}');
  const answered = (await pi.call("get_entries")).entries.find((e: PiRecord) => e.message?.role === "assistant");
  await pi.prompt("what is left behind");
  await pi.prompt(`/test-go ${answered.id}`);
  await pi.prompt("a second branch");
  await pi.prompt(`/test-go-with-summary ${answered.id}`);
  await pi.prompt("fail on purpose");
  await pi.prompt(`/test-label ${answered.id} start here`);
  await pi.call("set_session_name", { name: "a name" });
  await pi.call("bash", { command: "echo typed" });
  await pi.prompt("/test-note no event of its own");
  await pi.call("set_model", { provider: "faux", modelId: "thinker" });
  await pi.call("set_thinking_level", { level: "low" });
  await pi.prompt("think of it");
  await pi.call("compact");
  await pi.prompt("after the compaction");
}

/** What a pi that is on its own, with the same files, sends its model for the last prompt. */
async function askAsBefore(lab: PiLab, home: PiHome): Promise<ModelRequest> {
  const { path } = await readPiFile(home);
  const pi = await lab.startPlain(home, { args: ["--session", path] });
  await pi.prompt(lastPrompt);
  await pi.stop();
  return withoutLastTime((await readModelRequests(home)).at(-1));
}

/** The last prompt is typed at another moment. */
function withoutLastTime(request: ModelRequest | undefined): ModelRequest {
  if (request === undefined) throw new Error("the model was not asked");
  const last = request.messages.findLast(({ role }) => role === "user");
  assert.ok(JSON.stringify(last).includes(lastPrompt), "the last prompt is what the model is asked");
  return { ...request, messages: request.messages.map((m) => (m === last ? { ...m, timestamp: 0 } : m)) };
}

/** One root, no id twice, and every parent there. */
export function assertOneTree(texts: readonly string[]): void {
  const entries: PiRecord[] = texts.map((text) => JSON.parse(text));
  const ids = new Set(entries.map(({ id }) => id));
  assert.equal(ids.size, entries.length, "an id is there twice");
  const roots = entries.filter(({ parentId }) => parentId === null);
  assert.equal(roots.length, 1, `roots: ${JSON.stringify(roots.map(({ type, id }) => [type, id]))}`);
  for (const { id, parentId } of entries) assert.ok(parentId === null || ids.has(parentId), `${id} has no parent`);
}

function idsOf({ entries }: { entries: PiRecord[] }): string[] {
  return entries.map(({ id }) => id);
}
