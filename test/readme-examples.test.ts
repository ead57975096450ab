import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import { describe, expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The TypeScript blocks of a README, without the few types in them: Node 20 runs JavaScript. */
async function readExamples(path: string): Promise<string[]> {
  const text = await readFile(join(root, path), "utf8");
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) =>
    block.replace(", type WebSocketConstructor", "").replace(" as unknown as WebSocketConstructor", ""),
  );
}

/** Runs a program as an ES module that has the packages, in a process of its own. */
async function runProgram(text: string): Promise<string> {
  const args = ["--input-type=module", "-e", text];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: join(root, "test") });
  expect(stderr).toBe("");
  return stdout;
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("what the READMEs show", () => {
  it("[PK9] a session of the client's first example is gone on with by the second, on another device", async () => {
    const relayStore = await openLmdbStore({ path: await makeFolder() });
    onTestFinished(() => relayStore.close());
    const relay = await openRelay({ store: relayStore, host: "127.0.0.1", port: 0, auth: "open" });
    onTestFinished(() => relay.close());
    const examples = await readExamples("packages/client/README.md");
    const [first = ""] = examples;
    const second = examples.find((example) => example.includes("parsePairingLink")) ?? "";
    const replaceOnce = (text: string, from: string, to: string): string => {
      expect(text.split(from)).toHaveLength(2);
      return text.replace(from, to);
    };
    const firstHere = replaceOnce(
      replaceOnce(first, "/home/ada/.local/share/coppice/logs", await makeFolder()),
      "ws://127.0.0.1:4600",
      relay.url,
    );
    const key = "new Uint8Array(32).fill(7)";
    // Both waits of the examples are short ones for readers; a machine that is busy may need longer.
    const patiently = (text: string): string => text.replaceAll(/\((?:2000|5000)\)/g, "(60000)");
    await runProgram(`
      const deviceId = "laptop", workspaceKey = ${key};
      ${patiently(firstHere.replace(/^shared\.subscribe.*$/m, ""))}`);
    const printed = await runProgram(`
      import { formatPairingLink } from "@coppice/client";
      import { openLmdbStore } from "@coppice/persist-lmdb";
      import { WebSocket as webSocket } from "ws";
      const store = await openLmdbStore({ path: ${JSON.stringify(await makeFolder())} });
      const device = { id: "desktop", name: "desktop" };
      const link = formatPairingLink({ workspaceKey: ${key}, relay: ${JSON.stringify(relay.url)} });
      ${patiently(second)}
      console.log(JSON.stringify((await shared.session.buildContext()).messages.map(({ content }) => content)));
      await workspace.close();
      await store.close();`);
    const [listed, messages] = printed.trimEnd().split("\n");
    expect(listed).toContain("Fix the flaky login test");
    expect(JSON.parse(messages ?? "")).toEqual(["Why does the login test fail?", "Now the logout test"]);
  });

  it("[PK9] the glue of the Yjs storage's example keeps a session in a file and opens it again", async () => {
    const glue = (await readExamples("packages/storage-yjs/README.md")).find((example) => example.includes("a+")) ?? "";
    const path = join(await makeFolder(), "session.log");
    const run = () =>
      runProgram(`
        const path = ${JSON.stringify(path)}, sessionId = "s", deviceId = "d";
        ${glue}
        console.log((await storage.getEntries()).length, storage.getHeaderJson());
        await storage.close();
        await file.close();`);
    const header =
      '{"type":"session","version":3,"id":"s","timestamp":"2026-12-01T10:00:00.000Z","cwd":"/home/ada/project"}';
    expect(await run()).toBe(`1 ${header}\n`);
    expect(await run()).toBe(`2 ${header}\n`);
  });
});
