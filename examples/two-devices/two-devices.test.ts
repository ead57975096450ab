import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { countReadableEntries, readWordsOfFolder } from "./scan-store.mjs";

const script = fileURLToPath(new URL("./run.mjs", import.meta.url));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function runDemo(args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : 1, stdout, stderr });
    });
  });
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-demo-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it("[CP60] tells its story, finds both devices equal, and does so again on the same data", async () => {
  const data = await makeFolder();
  const first = await runDemo(["--once", "--data", data]);
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(/laptop {3}imported "Fix the flaky login test" {3}\d+ entries\n/);
  // Which branch comes first is decided by random ids: both were written without knowing of the other.
  const branches = /├─ u {2}[^\n]+\n│ {2}a {2}[^\n]+◀ (\w+)\n└─ u {2}[^\n]+\n {3}a {2}[^\n]+◀ (\w+)\n/.exec(
    first.stdout,
  );
  expect(branches?.slice(1).sort()).toEqual(["desktop", "laptop"]);
  expect(first.stdout).toMatch(/✔ same \d+ entries, same order, both leaves kept · the relay could read 0 of them\n$/);
  const countOf = ({ stdout }: Ended): number => Number(/same (\d+) entries/.exec(stdout)?.[1]);
  const second = await runDemo(["--once", "--data", data]);
  expect(second).toMatchObject({ code: 0, stderr: "" });
  expect(countOf(second)).toBe(countOf(first) + 4);
});

it("[CP60] exits 1 with a sentence for a file that is not there and 2 for wrong usage", async () => {
  expect(await runDemo(["--once", "/nowhere/session.jsonl"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("/nowhere/session.jsonl"),
  });
  expect(await runDemo(["--twice"])).toMatchObject({ code: 2, stderr: expect.stringContaining("usage: npm start --") });
});

it("[CP60] finds words where they can be read", async () => {
  const folder = await makeFolder();
  const entries = [
    '{"type":"message","message":{"content":"the migration"}}',
    '{"type":"message","message":{"content":"short"}}',
  ];
  await writeFile(join(folder, "data.mdb"), Buffer.concat([Buffer.of(0, 255), Buffer.from(entries.join("\n"))]));
  expect(countReadableEntries(entries, await readWordsOfFolder(folder))).toBe(1);
  expect(countReadableEntries(entries, "")).toBe(0);
});
