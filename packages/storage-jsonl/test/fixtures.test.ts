import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { entryToTreeNode, SessionError, SessionTree } from "@coppice/core";
import { expect, it } from "vitest";
import { readSessionFile } from "../src/index.ts";
import { fixturesFolder, makeTempFolder } from "./helpers.ts";

const run = promisify(execFile);

it("[JL16] every fixture is read as the array model wrote it down", async () => {
  const expected = JSON.parse(await readFile(join(fixturesFolder, "expected.json"), "utf8"));
  const found: Record<string, unknown> = {};
  for (const name of Object.keys(expected)) found[name] = await describeFile(join(fixturesFolder, name));
  expect(found).toEqual(expected);
  expect(Object.keys(expected).length).toBeGreaterThan(25);
});

async function describeFile(path: string): Promise<Record<string, unknown>> {
  const bytes = (await readFile(path)).length;
  const tree = new SessionTree();
  let leaf: string | null = null;
  let entries = 0;
  const targets = new Set<string>();
  const file = await readSessionFile(path).catch((error: unknown) => error);
  if (file instanceof SessionError) return { bytes, refused: file.code };
  if (file instanceof Error) throw file;
  const { report, ...session } = file as Awaited<ReturnType<typeof readSessionFile>>;
  for await (const { entry } of session) {
    const node = entryToTreeNode(entry);
    tree.insert(node);
    leaf = tree.leafEffect(node);
    entries++;
    if (entry.type === "label") targets.add(entry.targetId);
  }
  const stats = tree.stats();
  const labels = [...targets].map((id) => [id, tree.label(id)] as const).filter(([, label]) => label !== undefined);
  const name = tree.sessionName();
  return {
    bytes,
    version: report.fileVersion,
    skippedLines: report.skipped.map((note) => note.line),
    entries,
    duplicateIds: entries - stats.entries,
    orphans: tree.waiting().filter((node) => node.type !== "leaf").length,
    roots: stats.roots,
    branchPoints: stats.forks,
    leaves: stats.leaves,
    depth: stats.depth,
    leaf,
    branch: branchLength(tree, leaf),
    labels: Object.fromEntries(labels),
    ...(name === undefined ? {} : { name }),
  };
}

function branchLength(tree: SessionTree, leaf: string | null): number | null {
  try {
    return tree.pathToRoot(leaf).length;
  } catch (error) {
    if (error instanceof SessionError && error.code === "invalid_session") return null;
    throw error;
  }
}

it("[JL17] making the fixtures and the sample session again changes no byte", async () => {
  const folder = await makeTempFolder();
  await run(process.execPath, [join(fixturesFolder, "make-fixtures.mjs"), folder]);
  const made = (await readdir(folder)).filter((name) => name.endsWith(".jsonl") || name === "expected.json");
  const kept = (await readdir(fixturesFolder)).filter((name) => name.endsWith(".jsonl") || name === "expected.json");
  expect(made.sort()).toEqual(kept.sort());
  for (const name of made) {
    expect(await readFile(join(folder, name), "utf8"), name).toBe(await readFile(join(fixturesFolder, name), "utf8"));
  }
  const sample = "examples/two-devices/flaky-login-test.jsonl";
  expect(await readFile(join(folder, sample), "utf8")).toBe(
    await readFile(join(fixturesFolder, "../..", sample), "utf8"),
  );
});
