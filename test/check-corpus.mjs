/**
 * Reads every session file below a folder, puts it into a tree and a storage, and compares the outcome with the
 * folder's `expected.json`, when it has one. Called by `npm run check:corpus -- FOLDER`, which builds what it imports.
 *
 * What is compared: entries, roots, forks, leaves, depth, duplicate ids, skipped lines, leaf, length of its branch,
 * labels and name; and always, that every entry's text is its line byte for byte, also out of a storage.
 */
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { entryToTreeNode, InMemorySessionStorage, SessionError, SessionTree } from "@coppice/core";
import { findSessionFiles, readSessionFile } from "@coppice/storage-jsonl";

/** Checks a folder, prints one line per file and a last line with the counts; settles with the exit code. */
export async function checkCorpus(folder, print = console.log) {
  const expectedByName = await readExpected(folder);
  const { files, rejected } = await findSessionFiles(folder);
  const nameOf = (path) => relative(folder, path).split(sep).join("/");
  const outcomes = new Map();
  for (const { path } of files) {
    const name = nameOf(path);
    const { faults, summary } = await checkFile(path, expectedByName[name]);
    outcomes.set(name, { faults, summary });
  }
  for (const { path, error } of rejected) {
    const name = nameOf(path);
    const expected = expectedByName[name];
    if (expected === undefined) print(`left out  ${error.message}`);
    else if (expected.refused === error.code) outcomes.set(name, { faults: [], summary: `refused, ${error.code}` });
    else outcomes.set(name, { faults: [error.message], summary: "" });
  }
  for (const name of Object.keys(expectedByName)) {
    if (!outcomes.has(name))
      outcomes.set(name, { faults: ["is named in expected.json but is not there"], summary: "" });
  }

  if (outcomes.size === 0) outcomes.set(folder, { faults: ["holds no .jsonl file"], summary: "" });
  let failed = 0;
  for (const [name, { faults, summary }] of [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (faults.length > 0) failed++;
    print(faults.length > 0 ? `FAILED    ${name}: ${faults.join("; ")}` : `ok        ${name}: ${summary}`);
  }
  print(`${outcomes.size - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function checkFile(path, expected) {
  const bytes = await readFile(path);
  const lines = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split("\n");
  const tree = new SessionTree();
  const jsonById = new Map();
  const jsons = [];
  const faults = [];
  const file = await readSessionFile(path);
  for await (const { line, json, entry } of file) {
    tree.insert(entryToTreeNode(entry));
    jsons.push(json);
    if (!jsonById.has(entry.id)) jsonById.set(entry.id, json);
    const isAsItStands = json === lines[line - 1]?.replace(/\r$/, "");
    if (file.report.fileVersion === 3 && !isAsItStands) faults.push(`line ${line} is not read byte for byte`);
  }

  const storage = new InMemorySessionStorage({ metadata: { id: file.header.id, createdAt: file.header.timestamp } });
  await storage.appendJson(jsons);
  for (const [id, json] of jsonById) {
    if ((await storage.getEntryJson(id)) !== json)
      faults.push(`entry ${id} comes out of the storage with another text`);
  }
  const found = await describeSession(storage, tree, jsons.length);
  found.skippedLines = file.report.skipped.map((note) => note.line);
  if (expected?.refused !== undefined) faults.push(`expected to be refused (${expected.refused}), but is read`);
  else if (expected !== undefined) faults.push(...compare(found, expected));
  await storage.close();
  const { entries, roots, branchPoints, leaves, depth, skippedLines } = found;
  const skipped = skippedLines.length === 0 ? "" : `, skipped lines ${skippedLines.join(" ")}`;
  const summary = `entries ${entries}, roots ${roots}, forks ${branchPoints}, leaves ${leaves}, depth ${depth}${skipped}`;
  return { faults, summary };
}

async function describeSession(storage, tree, entries) {
  const stats = tree.stats();
  const leaf = await storage.getLeafId();
  const labels = {};
  for (const { targetId } of await storage.findEntries("label")) {
    const label = await storage.getLabel(targetId);
    if (label !== undefined) labels[targetId] = label;
  }
  return {
    entries,
    duplicateIds: entries - stats.entries,
    orphans: tree.waiting().filter((node) => node.type !== "leaf").length,
    roots: stats.roots,
    branchPoints: stats.forks,
    leaves: stats.leaves,
    depth: stats.depth,
    leaf,
    branch: await branchLength(storage, leaf),
    labels,
    name: await storage.getSessionName(),
  };
}

async function branchLength(storage, leaf) {
  try {
    return (await storage.getPathToRoot(leaf)).length;
  } catch (error) {
    if (error instanceof SessionError && error.code === "invalid_session") return null;
    throw error;
  }
}

/** Compares with an entry of `expected.json`, which may leave fields out, and with what pi's own reader found. */
function compare(found, expected) {
  const { readers, ...wanted } = expected;
  // pi-agent-core knows leaf entries, pi-coding-agent reads old formats; the former refuses them.
  const reader = readers?.core80?.opened ? readers.core80 : readers?.ca16;
  if (reader !== undefined) {
    const { leaf, branch, labels, name } = reader;
    Object.assign(wanted, { branch, labels, name });
    // pi gives entries of format 1 random ids.
    if (expected.version === 3) wanted.leaf = leaf;
  }
  if (wanted.roots === null) Object.assign(wanted, { roots: 1, branchPoints: 0, leaves: 1, depth: expected.entries });

  const faults = [];
  for (const field of Object.keys(found)) {
    if (!(field in wanted) && field !== "name") continue;
    const value =
      typeof wanted[field] === "number" && field === "labels" ? Object.keys(found.labels).length : found[field];
    const [text, wantedText] = [JSON.stringify(value), JSON.stringify(wanted[field])];
    if (text !== wantedText) faults.push(`expected ${field} ${wantedText}, found ${text}`);
  }
  return faults;
}

async function readExpected(folder) {
  try {
    return JSON.parse(await readFile(join(folder, "expected.json"), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}
