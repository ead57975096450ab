import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { JsonlSessionRepo } from "@coppice/storage-jsonl";
import type { JsonlSessionRepo as PiRepo } from "pi-agent-core-0-80";
import { NodeExecutionEnv } from "pi-agent-core-0-80/node";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pi } from "./pi-packages.ts";
import { PiSessionManager } from "./pi-readers.ts";
import { findSessionFolders } from "./session-folders.ts";
import { attempt } from "./subject.ts";

const cwd = "/home/user/my:project";
let root = "";

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
  root = await mkdtemp(join(tmpdir(), "coppice-pi-repo-"));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(root, { recursive: true });
});

/** pi's repository and Coppice's, each on a folder of its own below the same root, or both on one. */
function openRepos(piFolder: string, ownFolder: string): { piRepo: PiRepo; ownRepo: JsonlSessionRepo } {
  const { JsonlSessionRepo: PiJsonlSessionRepo } = pi["0.80"].core;
  const fs = new NodeExecutionEnv({ cwd: "/" });
  return {
    piRepo: new PiJsonlSessionRepo({ fs, sessionsRoot: join(root, piFolder) }),
    ownRepo: new JsonlSessionRepo({ sessionsRoot: join(root, ownFolder) }),
  };
}

it("[PI11] pi and Coppice put a session of the same id and time at the same place with the same header", async () => {
  const { piRepo, ownRepo } = openRepos("pi", "own");
  const options = { cwd, id: "a-session", parentSessionPath: "/elsewhere.jsonl", metadata: { tag: "木" } };
  const theirs = await (await piRepo.create(options)).getMetadata();
  const created = await ownRepo.create(options);
  const ours = await created.getMetadata();
  await created.getStorage().close();
  expect(ours.path?.replace(join(root, "own"), join(root, "pi"))).toBe(theirs.path);
  expect(await readFile(ours.path ?? "", "utf8")).toBe(await readFile(theirs.path, "utf8"));
  expect({ ...ours, path: "" }).toEqual({ ...theirs, path: "" });
});

it("[PI11] each lists and opens what the other has made, and the coding agent 1.6 lists both", async () => {
  const { piRepo, ownRepo } = openRepos("both", "both");
  const theirs = await piRepo.create({ cwd, id: "theirs" });
  await theirs.appendMessage({ role: "user", content: "made by pi", timestamp: 1 });
  vi.setSystemTime(Date.now() + 60_000);
  const ours = await ownRepo.create({ cwd, id: "ours" });
  await ours.appendMessage({ role: "user", content: "made by Coppice", timestamp: 2 });
  await ours.getStorage().close();

  const listedByPi = await piRepo.list({ cwd });
  const listedByUs = await ownRepo.list({ cwd });
  expect(listedByPi.map(({ id }) => id)).toEqual(["ours", "theirs"]);
  expect(listedByUs).toEqual(JSON.parse(JSON.stringify(listedByPi)));
  const [oursByPi, theirsByUs] = [
    await piRepo.open(listedByPi[0] as never),
    await ownRepo.open(listedByUs[1] as never),
  ];
  expect((await oursByPi.buildContext()).messages).toEqual((await ours.buildContext()).messages);
  expect((await theirsByUs.buildContext()).messages).toEqual((await theirs.buildContext()).messages);
  await theirsByUs.getStorage().close();
  const listedByAgent = await PiSessionManager.list(cwd, dirname(listedByPi[0]?.path ?? ""));
  expect(listedByAgent.map(({ firstMessage }) => firstMessage).sort()).toEqual(["made by Coppice", "made by pi"]);
});

it("[PI11] a fork takes over what pi's does, at and before every entry, and refuses what pi refuses", async () => {
  const [fixtures] = findSessionFolders();
  const { piRepo, ownRepo } = openRepos("pi", "own");
  let [made, refused] = [0, 0];
  for (const name of ["branches-leaf-entries.jsonl", "linear.jsonl", "compaction.jsonl"]) {
    const path = join(root, name);
    await cp(join(fixtures?.path ?? "", name), path);
    const entryIds = [
      undefined,
      "nobody",
      ...(await (await piRepo.open({ path } as never)).getEntries()).map(({ id }) => id),
    ];
    for (const entryId of entryIds) {
      for (const position of ["at", "before", undefined] as const) {
        const id = `${basename(name, ".jsonl")}-${entryId}-${position}`;
        const options = { cwd, id, ...(entryId && { entryId }), ...(position && { position }) };
        const theirs = await attempt(async () => linesOf(await piRepo.fork({ path } as never, options)));
        const ours = await attempt(async () => {
          const fork = await ownRepo.fork({ path }, options);
          await fork.getStorage().close();
          return linesOf(fork);
        });
        expect(ours, id).toEqual(theirs);
        if ("value" in theirs) made++;
        else refused++;
      }
    }
  }
  expect(made).toBeGreaterThan(30);
  expect(refused).toBeGreaterThan(30);
});

/** What the lines of a session's file say, the header first. */
async function linesOf(session: { getMetadata(): Promise<{ path?: string }> }): Promise<unknown[]> {
  const { path = "" } = await session.getMetadata();
  return (await readFile(path, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
