import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPiHome, type PiHome, type PiOptions, readModelRequests } from "../src/pi-home.ts";
import { type PiProcess, type PiRecord, runPiPrint, startPi } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";

let home: PiHome;
const running: PiProcess[] = [];

beforeEach(async () => {
  home = await createPiHome(await mkdtemp(join(tmpdir(), "coppice-plain-pi-")));
});
afterEach(async () => {
  for (const pi of running.splice(0)) await pi.kill();
  await rm(home.folder, { recursive: true });
});

async function start(options: Partial<PiOptions> = {}): Promise<PiProcess> {
  const pi = await startPi({ home, ...options });
  running.push(pi);
  return pi;
}

const textOf = ({ message }: PiRecord): string =>
  typeof message.content === "string" ? message.content : message.content.map((b: PiRecord) => b.text ?? "").join("");

const texts = (entries: PiRecord[], role: string): string[] =>
  entries.filter((entry) => entry.message?.role === role).map(textOf);

async function readSessionFile(): Promise<PiRecord[]> {
  const [name = ""] = await readdir(home.sessionDir);
  const text = await readFile(join(home.sessionDir, name), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describePi("a real pi, as tests drive it", () => {
  it("[PI13] answers prompts, calls tools, navigates and sets labels, and its file holds what it says it holds", async () => {
    const pi = await start();
    await pi.prompt("first");
    await pi.prompt('tool bash {"command":"echo from the tool"}');
    await pi.prompt("fail on purpose");
    const before = await pi.call("get_entries");
    expect(texts(before.entries, "assistant").slice(0, 3)).toEqual([
      "re: first [1]",
      "calling bash",
      "done bash: from the tool\n",
    ]);
    const failed = before.entries.findLast((entry: PiRecord) => entry.message?.role === "assistant");
    expect(failed.message).toMatchObject({ stopReason: "error", errorMessage: "on purpose" });

    const answered = before.entries.find((entry: PiRecord) => entry.message?.role === "assistant");
    await pi.prompt(`/test-go ${answered.id}`);
    expect((await pi.call("get_entries")).leafId).toBe(answered.id);
    await pi.prompt(`/test-label ${answered.id} a label`);
    await pi.prompt("/test-note a note");
    await pi.prompt("second branch");

    const { entries } = await pi.call("get_entries");
    expect(entries.find((entry: PiRecord) => entry.type === "label")).toMatchObject({ label: "a label" });
    expect(entries.find((entry: PiRecord) => entry.type === "custom")).toMatchObject({ data: { text: "a note" } });
    expect(texts(entries, "assistant").at(-1)).toBe("re: second branch [3]");
    expect(await pi.stop()).toBe(0);
    expect((await readSessionFile()).slice(1)).toEqual(entries);
  });

  it("[PI13] what its model was sent is recorded, message by message", async () => {
    const pi = await start();
    await pi.prompt("first");
    await pi.prompt("second");
    const requests = await readModelRequests(home);
    expect(requests.map(({ model }) => model)).toEqual(["plain", "plain"]);
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(requests[1]?.messages.slice(0, 2)).toEqual(requests[0]?.messages);
    expect(requests[1]?.messages[3].content).toEqual([{ type: "text", text: "second" }]);
  });

  it("[PI13] one that is killed in the middle of a turn has its prompt in the file, and goes on from there", async () => {
    const pi = await start({ tokensPerSecond: 20 });
    await pi.prompt("first");
    const from = pi.records.length;
    await pi.call("prompt", { message: "slow 500" });
    const isText = ({ type, assistantMessageEvent }: PiRecord): boolean =>
      type === "message_update" && assistantMessageEvent.type === "text_delta";
    await pi.waitFor("streaming", isText, from);
    await pi.kill();
    const left = await readSessionFile();
    expect(texts(left, "user")).toEqual(["first", "slow 500"]);
    expect(texts(left, "assistant")).toEqual(["re: first [1]"]);

    const next = await start({ args: ["--continue"] });
    await next.prompt("hello again");
    expect(texts((await next.call("get_entries")).entries, "assistant").at(-1)).toBe("re: hello again [4]");
  });

  it("[PI13] a prompt whose model hangs ends when it is aborted", async () => {
    const pi = await start();
    await pi.call("prompt", { message: "hang" });
    await pi.waitFor("the turn", ({ type, message }) => type === "message_end" && message.role === "user");
    const from = pi.records.length;
    await pi.call("abort");
    await pi.waitFor("the end", ({ type }) => type === "agent_settled", from);
    const { entries } = await pi.call("get_entries");
    expect(entries.at(-1).message).toMatchObject({ role: "assistant", stopReason: "aborted" });
  });

  it("[PI13] in print mode it answers and ends", async () => {
    const { code, stdout, stderr } = await runPiPrint({ home }, "hello");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "re: hello [1]\n", stderr: "" });
    expect(texts(await readSessionFile(), "assistant")).toEqual(["re: hello [1]"]);
  });
});
