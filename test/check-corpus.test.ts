import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

// By address, because a plain script has no types of its own.
const { checkCorpus }: { checkCorpus(folder: string, print: (line: string) => void): Promise<number> } = await import(
  new URL("./check-corpus.mjs", import.meta.url).href
);
const fixturesFolder = fileURLToPath(new URL("./fixtures", import.meta.url));

async function check(folder: string): Promise<{ exitCode: number; lines: string[] }> {
  const lines: string[] = [];
  const exitCode = await checkCorpus(folder, (line) => lines.push(line));
  return { exitCode, lines };
}

async function copyFixtures(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-corpus-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(fixturesFolder, folder, { recursive: true });
  return folder;
}

it("[JL18] every fixture passes, and the last line counts them", async () => {
  const { exitCode, lines } = await check(fixturesFolder);
  expect(exitCode).toBe(0);
  const count = Object.keys(JSON.parse(await readFile(join(fixturesFolder, "expected.json"), "utf8"))).length;
  expect(lines).toHaveLength(count + 1);
  expect(lines.at(-1)).toBe(`${count} passed, 0 failed`);
});

it("[JL18] an entry that is missing, a file that is missing and a file that ought to be refused fail by name", async () => {
  const folder = await copyFixtures();
  const linear = await readFile(join(folder, "linear.jsonl"), "utf8");
  await writeFile(join(folder, "linear.jsonl"), linear.split("\n").toSpliced(5, 1).join("\n"));
  await rm(join(folder, "crlf.jsonl"));
  await writeFile(join(folder, "version-99.jsonl"), linear);
  const { exitCode, lines } = await check(folder);
  expect(exitCode).toBe(1);
  expect(lines.at(-1)).toMatch(/ passed, 3 failed$/);
  expect(lines.find((line) => line.includes("linear.jsonl"))).toMatch(
    /^FAILED .*expected entries 14, found 13; .*orphans 0, found 1/,
  );
  expect(lines.find((line) => line.includes("crlf.jsonl"))).toMatch(/^FAILED .*is not there/);
  expect(lines.find((line) => line.includes("version-99.jsonl"))).toMatch(/^FAILED .*expected to be refused/);
});

it("[JL18] without expected.json every session is still checked byte for byte, and other files are left out", async () => {
  const folder = await copyFixtures();
  await rm(join(folder, "expected.json"));
  const { exitCode, lines } = await check(folder);
  expect(exitCode).toBe(0);
  expect(lines.filter((line) => line.startsWith("left out")).length).toBe(5);
  await rm(folder, { recursive: true });
  await expect(check(folder)).rejects.toMatchObject({ code: "not_found" });
});

it("[JL18] the command says how it is used, with exit code 2, before it installs or builds anything", async () => {
  const script = fileURLToPath(new URL("../scripts/check-corpus.mjs", import.meta.url));
  for (const args of [[], ["/there/is/nothing"], [fixturesFolder, fixturesFolder]]) {
    await expect(promisify(execFile)(process.execPath, [script, ...args])).rejects.toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("Usage: npm run check:corpus -- FOLDER"),
    });
  }
});
