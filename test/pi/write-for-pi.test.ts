import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemorySessionStorage, type SessionStorage } from "@coppice/core";
import { findPiFile, JsonlSessionStorage, type PiFileUpdate, piSessionPath, writeForPi } from "@coppice/storage-jsonl";
import { describe, expect, it, onTestFinished } from "vitest";
import { knowsAll, readBranch, readContext } from "./coppice-reading.ts";
import { PiSessionManager, readWithPi } from "./pi-readers.ts";
import { findSessionFolders } from "./session-folders.ts";

const metadata = { id: "s1", createdAt: "2026-03-02T08:00:00.000Z", cwd: "/elsewhere" };
const cwd = "/here";

function message(id: string, parentId: string | null): string {
  const said = { role: "user", content: `said ${id}`, timestamp: 1 };
  return JSON.stringify({ type: "message", id, parentId, timestamp: "2026-03-02T08:00:01.000Z", message: said });
}

/** a - b - c, and d beside b. */
const tree = [message("a", null), message("b", "a"), message("c", "b"), message("d", "a")];

async function makeStorage(lines: readonly string[] = tree): Promise<InMemorySessionStorage> {
  const storage = new InMemorySessionStorage({ metadata });
  await storage.appendJson(lines);
  return storage;
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-pi-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** pi stands where it should, on the branch of the leaf, and no id is there twice. */
async function expectStands(update: PiFileUpdate, branchIds: readonly string[]): Promise<void> {
  const reading = await readWithPi("1.6", update.path);
  expect(reading.leafId).toBe(update.standsOnId);
  const marker = update.marker === undefined ? [] : [update.marker.id];
  expect(reading.branchIds).toEqual([...branchIds, ...marker]);
  expect(new Set(reading.ids).size).toBe(reading.ids.length);
}

describe("[JL60] a missing file", () => {
  it("[JL60] is made whole, with this device's cwd, and pi stands on the leaf", async () => {
    const folder = await makeFolder();
    const storage = await makeStorage();
    const path = join(folder, "below", "x.jsonl");
    const update = await writeForPi(storage, { path, cwd, leafId: "c" });
    expect(update).toMatchObject({ isNew: true, added: ["a", "b", "d", "c"], leafId: "c", standsOnId: "c" });
    await expectStands(update, ["a", "b", "c"]);
    const manager = PiSessionManager.open(path);
    expect({ id: manager.getSessionId(), cwd: manager.getCwd() }).toEqual({ id: "s1", cwd });
    expect(await readdir(join(folder, "below"))).toEqual(["x.jsonl"]);
  });

  const [fixtures] = findSessionFolders();
  it.each(["branches-leaf-entries.jsonl", "compaction.jsonl", "labels-and-names.jsonl", "several-roots.jsonl"])(
    "[JL60] of the session in %s opens in pi with the context it has here, at any entry",
    async (name) => {
      const folder = await makeFolder();
      const storage: SessionStorage = await JsonlSessionStorage.open(join(fixtures?.path ?? "", name));
      onTestFinished(() => storage.close());
      const path = join(folder, "x.jsonl");
      for (const { id } of (await storage.getEntries()).filter(({ type }) => type !== "leaf")) {
        // One file throughout: it is brought up to date, and only grows.
        const before = await readFile(path, "utf8").catch(() => "");
        const update = await writeForPi(storage, { path, cwd, leafId: id });
        expect((await readFile(path, "utf8")).startsWith(before)).toBe(true);
        const branch = await readBranch(storage, "1.6", id);
        if (knowsAll("1.6", branch))
          expect((await readWithPi("1.6", path)).context).toEqual(readContext(branch, "1.6"));
        await expectStands(
          update,
          branch.map((entry) => entry.id),
        );
      }
    },
  );
});

it("[JL61] a file that is there gets what it lacks, behind its bytes as they are, and nothing when it lacks nothing", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  await writeForPi(await makeStorage(tree.slice(0, 2)), { path, cwd });
  const garbage = 'not JSON\n[]\n42\n{"type":"message","id":"x"}\n';
  await appendFile(path, `${garbage}${message("p", "b")}`);
  const before = await readFile(path, "utf8");
  const storage = await makeStorage();
  const update = await writeForPi(storage, { path, cwd, leafId: "c" });
  expect(update).toMatchObject({ isNew: false, added: ["d", "c"], standsOnId: "c" });
  expect(await readFile(path, "utf8")).toBe(`${before}\n${tree[3]}\n${tree[2]}\n`);
  const again = await writeForPi(storage, { path, cwd: "/other", leafId: "c" });
  expect(again).toMatchObject({ isNew: false, added: [], standsOnId: "c" });
  expect((await readWithPi("1.6", path)).branchIds).toEqual(["a", "b", "c"]);
});

it("[JL62] where the last line cannot be the leaf a marker is, which goes into the storage and is not written again", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  const storage = await makeStorage();
  const first = await writeForPi(storage, { path, cwd, leafId: "a" });
  expect(first.added).toEqual(["a", "b", "c", "d", first.marker?.id]);
  await expectStands(first, ["a"]);
  // Ended before the storage had it: the same marker is told again.
  const again = await writeForPi(storage, { path, cwd, leafId: "a" });
  expect(again).toMatchObject({ added: [], standsOnId: first.marker?.id, marker: first.marker });
  await storage.appendJson([first.marker?.json ?? ""]);
  const since = await writeForPi(storage, { path, cwd });
  expect(since).toMatchObject({ added: [], standsOnId: first.marker?.id });
  expect(await storage.appendJson([first.marker?.json ?? ""])).toEqual([]);
  // pi goes on below it, elsewhere and back again: always another marker.
  const elsewhere = await writeForPi(storage, { path, cwd, leafId: "c" });
  await expectStands(elsewhere, ["a", "b", "c"]);
  const back = await writeForPi(storage, { path, cwd, leafId: "a" });
  expect(back.marker?.id).not.toBe(first.marker?.id);
  await expectStands(back, ["a"]);
});

it("[JL63] what a crash or a full disk cut off anywhere is completed by the next call", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  const storage = await makeStorage();
  await writeForPi(await makeStorage(tree.slice(0, 1)), { path, cwd });
  const start = (await readFile(path)).length;
  await writeForPi(storage, { path, cwd, leafId: "b" });
  const whole = await readFile(path);
  for (let end = start; end < whole.length; end += 7) {
    await writeFile(path, whole);
    await truncate(path, end);
    await expectStands(await writeForPi(storage, { path, cwd, leafId: "b" }), ["a", "b"]);
    expect((await readWithPi("1.6", path)).ids).toEqual(expect.arrayContaining(["a", "b", "c", "d"]));
  }
});

it("[JL64] entries below one that is missing, or in a circle, are left out until that comes, and are no place to stand", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  const lines = [message("a", null), message("c", "b"), message("e", "c"), message("f", "g"), message("g", "f")];
  const storage = await makeStorage(lines);
  const update = await writeForPi(storage, { path, cwd, leafId: "a" });
  expect(update.added).toEqual(["a"]);
  expect(update.leftOut).toEqual([
    { id: "c", reason: "parent missing" },
    { id: "e", reason: "parent missing" },
    { id: "g", reason: "parents in a circle" },
    { id: "f", reason: "parents in a circle" },
  ]);
  const before = await readFile(path, "utf8");
  await expect(writeForPi(storage, { path, cwd, leafId: "e" })).rejects.toMatchObject({ code: "invalid_session" });
  await expect(writeForPi(storage, { path, cwd, leafId: "x" })).rejects.toMatchObject({ code: "not_found" });
  expect(await readFile(path, "utf8")).toBe(before);
  await storage.appendJson([message("b", "a")]);
  const whole = await writeForPi(storage, { path, cwd, leafId: "e" });
  expect(whole.added).toEqual(["b", "c", "e"]);
  await expectStands(whole, ["a", "b", "c", "e"]);
});

it("[JL65] a file of another session, of another format or of no session is refused and stays as it is", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  const storage = await makeStorage();
  const header = { type: "session", version: 3, id: "s1", timestamp: metadata.createdAt, cwd };
  for (const [text, code] of [
    [JSON.stringify({ ...header, id: "s2" }), "invalid_session"],
    [JSON.stringify({ ...header, version: undefined }), "version_mismatch"],
    [JSON.stringify({ ...header, version: 4 }), "version_mismatch"],
    [`\ufeff${JSON.stringify(header)}`, "invalid_session"],
    [message("a", null), "invalid_session"],
    ["", "invalid_session"],
  ] as const) {
    await writeFile(path, text);
    await expect(writeForPi(storage, { path, cwd })).rejects.toMatchObject({ code });
    expect(await readFile(path, "utf8")).toBe(text);
  }
});

it("[JL66] of several that write one file at once, also while pi appends, nothing is lost", async () => {
  const path = join(await makeFolder(), "x.jsonl");
  const lines = Array.from({ length: 40 }, (_, index) => message(`n${index}`, index === 0 ? null : `n${index - 1}`));
  const storage = await makeStorage(lines.slice(0, 1));
  await Promise.all([1, 2, 3].map(() => writeForPi(storage, { path, cwd })));
  const pi = PiSessionManager.open(path);
  const own: string[] = [];
  for (let index = 1; index < lines.length; index += 1) {
    await storage.appendJson(lines.slice(index, index + 1));
    const writes = [1, 2].map(() => writeForPi(storage, { path, cwd }));
    own.push(pi.appendMessage({ role: "user", content: `${index}`, timestamp: index }));
    await Promise.all(writes);
  }
  const reading = await readWithPi("1.6", path);
  expect(reading.ids).toEqual(expect.arrayContaining([...own, ...lines.map((_, index) => `n${index}`)]));
});

it("[JL67] the file of a session is found by its header, of several the one written to last", async () => {
  const folder = await makeFolder();
  const sessions = join(folder, "sessions");
  expect(await findPiFile(sessions, "s1")).toBeUndefined();
  const path = piSessionPath(sessions, "/home/mira/code", metadata.createdAt, "s1");
  expect(path).toBe(join(sessions, "--home-mira-code--", "2026-03-02T08-00-00-000Z_s1.jsonl"));
  const storage = await makeStorage();
  await writeForPi(storage, { path, cwd });
  await mkdir(join(sessions, "flat"));
  const other = join(sessions, "flat", "renamed.jsonl");
  await writeForPi(storage, { path: other, cwd });
  await utimes(path, new Date(), new Date(Date.now() - 60_000));
  expect(await findPiFile(sessions, "s1")).toBe(other);
  await utimes(other, new Date(), new Date(Date.now() - 120_000));
  expect(await findPiFile(sessions, "s1")).toBe(path);
  expect(await findPiFile(sessions, "s2")).toBeUndefined();
});
