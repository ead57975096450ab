import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Session } from "@coppice/core";
import { expect, it, onTestFinished } from "vitest";
import { JsonlSessionRepo, type JsonlSessionStorage, type RejectedPath } from "../src/index.ts";
import {
  canLimitFileSize,
  fixturesFolder,
  headerLine,
  makeTempFolder,
  messageLine,
  withFileSizeLimit,
} from "./helpers.ts";

interface TestRepo {
  repo: JsonlSessionRepo;
  sessionsRoot: string;
}

/** A repository whose clock goes on by a second at each look. */
async function makeRepo(): Promise<TestRepo> {
  const sessionsRoot = join(await makeTempFolder(), "sessions");
  let nowMs = Date.parse("2026-03-02T08:00:00.000Z");
  return { repo: new JsonlSessionRepo({ sessionsRoot, now: () => (nowMs += 1000) }), sessionsRoot };
}

function closeLater(session: Session<JsonlSessionStorage>): Session<JsonlSessionStorage> {
  onTestFinished(() => session.getStorage().close());
  return session;
}

async function idsOf(session: Session): Promise<string[]> {
  return (await session.getEntries()).map((entry) => entry.id);
}

it("[JL40] a session stands in the folder and under the name that pi gives it", async () => {
  const { repo, sessionsRoot } = await makeRepo();
  const names: Record<string, string> = {
    "/home/mira/work": "--home-mira-work--",
    "C:\\work\\shop": "--C--work-shop--",
    "relative/path": "--relative-path--",
  };
  for (const [cwd, folder] of Object.entries(names)) {
    const session = closeLater(await repo.create({ cwd, id: "s-1" }));
    const { path, createdAt } = await session.getStorage().getMetadata();
    expect(path).toBe(join(sessionsRoot, folder, `${createdAt.replaceAll(":", "-").replace(".", "-")}_s-1.jsonl`));
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({
      type: "session",
      version: 3,
      id: "s-1",
      timestamp: createdAt,
      cwd,
    });
  }
});

it("[JL41] an id that cannot be part of a file name is refused, and nothing is made", async () => {
  const { repo, sessionsRoot } = await makeRepo();
  for (const id of ["", "../up", "a/b", "-dash", "dot.", "späce", "a b"]) {
    await expect(repo.create({ cwd: "/work", id })).rejects.toMatchObject({ code: "invalid_session" });
  }
  await expect(readdir(sessionsRoot)).rejects.toThrow();
  const session = closeLater(await repo.create({ cwd: "/work" }));
  expect((await session.getMetadata()).id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
});

it("[JL42] sessions are listed newest first, of one folder or all, and a repository that is not there is empty", async () => {
  const { repo } = await makeRepo();
  expect(await repo.list()).toEqual([]);
  expect(await repo.list({ cwd: "/a/b" })).toEqual([]);
  // The last two share a folder on disk.
  for (const [id, cwd] of [
    ["one", "/work"],
    ["two", "/a/b"],
    ["three", "/a-b"],
  ] as const) {
    closeLater(await repo.create({ id, cwd, metadata: { id } }));
  }
  expect((await repo.list()).map(({ id }) => id)).toEqual(["three", "two", "one"]);
  expect(await repo.list({ cwd: "/a/b" })).toEqual([
    expect.objectContaining({
      id: "two",
      cwd: "/a/b",
      metadata: { id: "two" },
      path: expect.stringContaining("--a-b--"),
    }),
  ]);
});

it("[JL42] a bad file never spoils a list, and whoever asks is told of it", async () => {
  const { repo, sessionsRoot } = await makeRepo();
  closeLater(await repo.create({ id: "good", cwd: "/work" }));
  const folder = join(sessionsRoot, "--work--");
  await writeFile(join(folder, "empty.jsonl"), "");
  await writeFile(join(folder, "log.jsonl"), '{"level":30}\n');
  await mkdir(join(folder, "folder.jsonl"));
  await writeFile(join(folder, "damaged.jsonl"), `${headerLine}\n{"torn`);
  await writeFile(join(folder, "timeless.jsonl"), `${headerLine.replace("2026-03-02T08:00:00.000Z", "once")}\n`);
  const rejected: RejectedPath[] = [];
  const sessions = await repo.list({ onRejected: (path) => rejected.push(path) });
  expect(sessions.map(({ path }) => basename(path).replace(/.*_/, ""))).toEqual([
    "good.jsonl",
    "damaged.jsonl",
    "timeless.jsonl",
  ]);
  expect(rejected.map(({ path }) => path.replace(folder, ""))).toEqual(["/empty.jsonl", "/log.jsonl"]);
});

it("[JL43] a session is opened by its metadata and gone when deleted, which may be done twice", async () => {
  const { repo } = await makeRepo();
  const session = await repo.create({ cwd: "/work" });
  const id = await session.appendMessage({ role: "user", content: "hello" });
  await session.getStorage().close();
  const [metadata] = await repo.list();
  if (metadata === undefined) throw new Error("the session is not listed");
  const opened = closeLater(await repo.open(metadata));
  expect(await idsOf(opened)).toEqual([id]);
  await repo.delete(metadata);
  await repo.delete(metadata);
  expect(await repo.list()).toEqual([]);
  await expect(repo.open(metadata)).rejects.toMatchObject({ code: "not_found" });
});

it("[JL44] a fork takes all entries, or the branch at or before an entry, with their ids and texts", async () => {
  const { repo } = await makeRepo();
  const source = closeLater(await repo.create({ cwd: "/work", metadata: { ticket: 7 } }));
  const u1 = await source.appendMessage({ role: "user", content: "first" });
  const a1 = await source.appendMessage({ role: "assistant", content: "answer" });
  const u2 = await source.appendMessage({ role: "user", content: "second" });
  await source.moveTo(a1);
  const metadata = await source.getStorage().getMetadata();
  const before = await readFile(metadata.path, "utf8");

  const all = closeLater(await repo.fork(metadata, { cwd: "/elsewhere" }));
  expect(await idsOf(all)).toEqual(await idsOf(source));
  expect(await all.getLeafId()).toBe(a1);
  expect(await all.getStorage().getMetadata()).toMatchObject({
    cwd: "/elsewhere",
    parentSessionPath: metadata.path,
    metadata: { ticket: 7 },
  });
  expect((await all.getMetadata()).id).not.toBe(metadata.id);
  const path = (await all.getStorage().getMetadata()).path;
  expect((await readFile(path, "utf8")).split("\n").slice(1)).toEqual(before.split("\n").slice(1));

  expect(await idsOf(closeLater(await repo.fork(metadata, { cwd: "/work", entryId: u2 })))).toEqual([u1, a1]);
  expect(await idsOf(closeLater(await repo.fork(metadata, { cwd: "/work", entryId: u1 })))).toEqual([]);
  const at = closeLater(await repo.fork(metadata, { cwd: "/work", entryId: a1, position: "at", metadata: { own: 1 } }));
  expect(await idsOf(at)).toEqual([u1, a1]);
  expect((await at.getMetadata()).metadata).toEqual({ own: 1 });
  expect(await readFile(metadata.path, "utf8")).toBe(before);
});

it("[JL44] a wrong fork target is refused and makes no file", async () => {
  const { repo } = await makeRepo();
  const source = closeLater(await repo.create({ cwd: "/work" }));
  await source.appendMessage({ role: "user", content: "first" });
  const answer = await source.appendMessage({ role: "assistant", content: "answer" });
  const metadata = await source.getStorage().getMetadata();
  for (const entryId of ["nowhere", answer]) {
    await expect(repo.fork(metadata, { cwd: "/work", entryId })).rejects.toMatchObject({ code: "invalid_fork_target" });
  }
  expect(await repo.list()).toHaveLength(1);
});

it.skipIf(!canLimitFileSize)("[JL44] a fork that the disk has no room for leaves no file behind", async () => {
  const { repo, sessionsRoot } = await makeRepo();
  const source = { path: join(fixturesFolder, "several-roots.jsonl") };
  await withFileSizeLimit(4096, () =>
    expect(repo.fork(source, { cwd: "/work" })).rejects.toMatchObject({ code: "storage_full" }),
  );
  expect(await readdir(join(sessionsRoot, "--work--"))).toEqual([]);
});

it("[JL45] a fork of a file in an older format is a copy in format 3 that can be continued", async () => {
  const { repo } = await makeRepo();
  const source = { path: join(fixturesFolder, "version-1.jsonl") };
  const fork = closeLater(await repo.fork(source, { cwd: "/work" }));
  const again = closeLater(await repo.fork(source, { cwd: "/work" }));
  expect(await idsOf(fork)).toEqual(await idsOf(again));
  const leafId = await fork.getLeafId();
  await fork.getStorage().appendJson([messageLine("new", leafId)]);
  const { path } = await fork.getStorage().getMetadata();
  expect(await idsOf(closeLater(await repo.open({ path })))).toEqual([...(await idsOf(again)), "new"]);
});
