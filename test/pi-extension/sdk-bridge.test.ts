import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CallProcess, startCallProcess } from "../src/call-process.ts";
import { findPiProgram } from "../src/pi-program.ts";
import { type RelayProcess, startRelayProcess } from "../src/processes.ts";
import type { SdkBridgeCalls, SdkBridgeState } from "../src/sdk-bridge-calls.ts";
import { describePi } from "./describe-pi.ts";

const sessionId = "01900000-0000-7000-8000-00000000005d";
let folder = "";
const running: CallProcess<SdkBridgeCalls>[] = [];
const relays: RelayProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "coppice-sdk-bridge-"));
});
afterEach(async () => {
  for (const agent of running.splice(0)) await agent.kill();
  for (const relay of relays.splice(0)) await relay.kill();
  await rm(folder, { recursive: true });
});

function startAgent(): CallProcess<SdkBridgeCalls> {
  const program = findPiProgram();
  if (!program.ok) throw new Error(program.reason);
  const agent = startCallProcess<SdkBridgeCalls>("sdk-bridge-process", undefined, [], program.node);
  running.push(agent);
  return agent;
}

const openLaptop = async (): Promise<[CallProcess<SdkBridgeCalls>, SdkBridgeState]> => {
  const agent = startAgent();
  return [agent, await agent.ask("open", { folder: join(folder, "laptop"), deviceId: "laptop", sessionId })];
};

/** What was said: of user and assistant. */
const said = (texts: readonly string[]): string[] =>
  texts
    .map((json) => JSON.parse(json).message)
    .filter((message) => message?.role === "user" || message?.role === "assistant")
    .map(({ content }) => content.map((block: { text?: string }) => block.text ?? "").join(""));

const withoutMoves = (texts: readonly string[]): string[] => texts.filter((json) => JSON.parse(json).type !== "leaf");

const entryWith = (state: SdkBridgeState, text: string): string =>
  JSON.parse(state.piEntries.find((json) => json.includes(text)) ?? "{}").id;

describePi("an agent of pi's SDK on a session of a workspace", () => {
  it("[EX80, EX81] what pi appends is in the workspace, byte for byte and in its order, and is there again after a restart", async () => {
    const [first] = await openLaptop();
    await first.ask("prompt", { text: "first" });
    const left = await first.ask("prompt", { text: 'tool bash {"command":"echo from the tool"}' });
    expect(left.piEntries.length).toBeGreaterThan(7);
    expect(left.entries).toEqual(left.piEntries);
    expect(left.leafId).toBe(left.piLeafId);
    await first.ask("close", null);

    const [second, opened] = await openLaptop();
    expect(opened.piEntries).toEqual(left.piEntries);
    expect(opened.piLeafId).toBe(left.piLeafId);
    const { asked } = await second.ask("prompt", { text: "after the restart" });
    expect(asked.slice(0, left.asked.length)).toEqual(left.asked);
    expect(asked.at(-1)).toMatchObject({ role: "user", content: [{ text: "after the restart" }] });
  });

  it("[EX82] where pi moves the session moves, a branch begins there, and a restart is on it", async () => {
    const [first] = await openLaptop();
    await first.ask("prompt", { text: "one" });
    const before = await first.ask("prompt", { text: "two" });
    const answered = entryWith(before, "re: one");
    const moved = await first.ask("navigate", { entryId: answered, summarize: false });
    expect([moved.piLeafId, moved.leafId]).toEqual([answered, answered]);
    expect(withoutMoves(moved.entries)).toEqual(moved.piEntries);
    await first.ask("close", null);

    const [second, opened] = await openLaptop();
    expect(opened.piLeafId).toBe(answered);
    await second.ask("prompt", { text: "beside two" });
    const summarized = await second.ask("navigate", { entryId: answered, summarize: true });
    expect(JSON.parse(summarized.piEntries.at(-1) ?? "")).toMatchObject({ type: "branch_summary", parentId: answered });
    const labelled = await second.ask("label", { entryId: answered, label: "the fork" });
    expect([labelled.leafId, withoutMoves(labelled.entries).at(-1)]).toEqual([
      labelled.piLeafId,
      labelled.piEntries.at(-1),
    ]);
    const root = JSON.parse(before.piEntries[0] ?? "").id;
    const { entries, asked } = await second.ask("prompt", { text: "beside both" });
    expect(JSON.stringify(asked)).not.toContain("beside two [");
    expect(entries.filter((json) => JSON.parse(json).parentId === null).map((json) => JSON.parse(json).id)).toEqual([
      root,
    ]);
  });

  it("[EX81, EX83] another device goes on with what it has at opening, and what comes meanwhile is there when it opens again", async () => {
    const relay = await startRelayProcess(join(folder, "relay"));
    relays.push(relay);
    const laptop = startAgent();
    const onLaptop = { folder: join(folder, "laptop"), deviceId: "laptop", sessionId, relay: relay.url };
    await laptop.ask("open", onLaptop);
    const left = await laptop.ask("prompt", { text: "from the laptop" });
    await laptop.ask("send", null);

    const desktop = startAgent();
    const onDesktop = { ...onLaptop, folder: join(folder, "desktop"), deviceId: "desktop" };
    const opened = await desktop.ask("open", onDesktop);
    expect([opened.piEntries, opened.piLeafId]).toEqual([left.piEntries, left.piLeafId]);
    const answered = await desktop.ask("prompt", { text: "from the desktop" });
    await desktop.ask("send", null);
    expect(said(answered.piEntries).slice(0, 3)).toEqual([
      "from the laptop",
      "re: from the laptop [1]",
      "from the desktop",
    ]);

    // It came into the workspace; the agent that runs has not heard of it and makes a branch of its own.
    const received = await laptop.ask("receive", { entryId: answered.piLeafId ?? "" });
    expect(received.piEntries).toEqual(left.piEntries);
    const branched = await laptop.ask("prompt", { text: "meanwhile" });
    expect(said(branched.piEntries)).not.toContain("from the desktop");
    expect(said(branched.entries)).toContain("from the desktop");
    await laptop.ask("close", null);

    const again = await startAgent().ask("open", onLaptop);
    expect(again.piLeafId).toBe(branched.piLeafId);
    expect(said(again.piEntries)).toContain("from the desktop");
  });

  it("[EX84] what would make another session of the manager is refused; a write that fails is told, and the next turn fails too", async () => {
    const [agent] = await openLaptop();
    const { entries } = await agent.ask("prompt", { text: "kept" });
    expect(await agent.ask("callRefused", null)).toEqual([
      expect.stringContaining(`session ${sessionId} of a workspace and cannot begin a new one`),
      expect.stringContaining("cannot go over to a file"),
      expect.stringContaining("cannot become a fork"),
    ]);
    expect((await agent.ask("prompt", { text: "as before" })).entries.slice(0, entries.length)).toEqual(entries);

    const { told, settled, turn, kept } = await agent.ask("breakSession", null);
    expect(told).toEqual([expect.stringContaining("closed")]);
    expect(settled).toBe(told[0]);
    expect(turn).toContain(told[0]);
    expect(kept).toBe(0);
  });
});
