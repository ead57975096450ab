import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { backUpLmdbStore, openLmdbStore } from "@coppice/persist-lmdb";
import { expectCode, range } from "@coppice/testkit";
import { open as openLmdb } from "lmdb";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildIfStale, type Child, startChild } from "./child-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

beforeAll(buildIfStale);

// A limit on the size of files is a full disk that any user can make and undo; only Linux lets a parent set it.
const canLimit = (() => {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!canLimit)("a disk without space", () => {
  async function startLimited(): Promise<{
    folder: string;
    ask: (line: string) => Promise<unknown[]>;
    limit: (bytes: string) => void;
  }> {
    const folder = await makeTempFolder();
    const child: Child = startChild("append-limited.mjs", [folder]);
    expect(await child.nextLine()).toBe("open");
    return {
      folder,
      ask: async (line) => {
        child.write(line);
        return JSON.parse(await child.nextLine()) as unknown[];
      },
      limit: (bytes) => execFileSync("prlimit", ["--pid", String(child.process.pid), `--fsize=${bytes}:unlimited`]),
    };
  }

  test("[UL25] an append that finds no space is `storage_full`; later ones work when there is space again", async () => {
    const { ask, limit } = await startLimited();
    expect(await ask("a 1000")).toEqual([1]);
    limit("1000000");
    for (let attempt = 0; attempt < 2; attempt++) {
      const [answer] = await ask("a 2000000");
      expect(answer).toMatch(/^SessionError storage_full: No space left for the store in \/.*\. Free some space/);
      expect(await ask("a read")).toEqual([[1]]);
    }
    expect(await ask("a 1000")).toEqual([2]);
    limit("unlimited");
    expect(await ask("a 2000000")).toEqual([3]);
    expect(await ask("a read")).toEqual([[1, 2, 3]]);
  });

  test("[UL25] appends of the log waiting behind a failed one fail with it, those of another log do not", async () => {
    const { ask, limit } = await startLimited();
    limit("1000000");
    // The first two are more than one commit takes, so all but the first wait for the next commit.
    const answers = await ask("a 2000000, a 15000000, a 10, b 10");
    for (const answer of answers.slice(0, 3)) expect(answer).toMatch(/^SessionError storage_full/);
    expect(answers[3]).toBe(1);
    limit("unlimited");
    expect(await ask("a 2000000, a 15000000, a 10, b 10")).toEqual([1, 2, 3, 2]);
    expect(await ask("a read")).toEqual([[1, 2, 3]]);
  });

  test("[UL32] a store that is gone after a failure is not replaced by an empty one, and goes on once it is back", async () => {
    const { folder, ask, limit } = await startLimited();
    expect(await ask("a 10")).toEqual([1]);
    await rename(folder, `${folder}-away`);
    onTestFinished(() => rm(`${folder}-away`, { recursive: true, force: true }));
    limit("1000000");
    expect((await ask("a 2000000"))[0]).toMatch(/^SessionError storage/);
    limit("unlimited");
    const gone = `SessionError storage: The store in ${folder} is gone. Bring its folder back and try again.`;
    expect(await ask("a 10, b 10")).toEqual([gone, gone]);
    await expect(stat(folder)).rejects.toThrow("ENOENT");
    await rename(`${folder}-away`, folder);
    expect(await ask("a 10, b 10")).toEqual([2, 1]);
    expect(await ask("a read")).toEqual([[1, 2]]);
  });
});

describe("a folder that cannot be used", () => {
  test("[UL26] the folder is made for this user alone, and so are its files", async () => {
    const folder = join(await makeTempFolder(), "home", "store");
    const store = await openLmdbStore({ path: folder });
    onTestFinished(() => store.close());
    const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    expect(await modeOf(folder)).toBe(0o700);
    expect(await modeOf(join(folder, ".."))).toBe(0o700);
    for (const name of await readdir(folder)) expect(await modeOf(join(folder, name))).toBe(0o600);
  });

  test("[UL27] a folder whose name has a dot is a folder", async () => {
    const folder = join(await makeTempFolder(), "store.v1");
    const store = await openLmdbStore({ path: folder });
    onTestFinished(() => store.close());
    expect((await readdir(folder)).sort()).toEqual(["data.mdb", "lock.mdb"]);
  });

  test.skipIf(process.platform !== "linux")(
    "[UL27] a folder that the system lets nobody make is `storage` at once",
    async () => {
      // In /proc even root is told that a folder that was to be made does not exist.
      for (const path of ["/proc/coppice", "/proc/coppice/deep/store"]) {
        const error = await expectCode(openLmdbStore({ path }), "storage");
        expect(error.message).toContain(path);
      }
      const from = join(await makeTempFolder(), "store");
      await (await openLmdbStore({ path: from })).close();
      await expect(backUpLmdbStore({ from, to: "/proc/coppice/deep/copy" })).rejects.toThrow("/proc/coppice");
    },
  );

  test("[UL26, UL27] several that are missing are made by several openings at once", async () => {
    const folder = join(await makeTempFolder(), "a", "b", "store");
    const stores = await Promise.all([1, 2, 3].map(() => openLmdbStore({ path: folder })));
    await Promise.all(stores.map((store) => store.close()));
    for (const path of [folder, join(folder, ".."), join(folder, "../..")])
      expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  test("[UL27] a file in the place of the folder, or above it, is `storage` and names the folder", async () => {
    const folder = await makeTempFolder();
    await writeFile(join(folder, "file"), "text");
    for (const path of [join(folder, "file"), join(folder, "file", "store")]) {
      const error = await expectCode(openLmdbStore({ path }), "storage");
      expect(error.message).toBe(
        `Cannot open the store in ${path}: it, or something above it, is a file; choose another folder.`,
      );
    }
    expect(await readFile(join(folder, "file"), "utf8")).toBe("text");
  });

  test("[UL27] a folder this user may not write is `storage` and says what to do", async () => {
    const folder = await makeTempFolder();
    await chmod(folder, 0o755);
    const store = join(folder, "store");
    await mkdir(store, { mode: 0o555 });
    // Root may write anywhere, so there the child is somebody else.
    const nobody = 65534;
    const child = startChild("open-store.mjs", [store], process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {});
    expect(await child.nextLine()).toBe(
      `SessionError storage: Cannot open the store in ${store}: this user may not write there; change its permissions or choose another folder.`,
    );
    expect(await readdir(store)).toEqual([]);
  });
});

describe("a data file that cannot be opened", () => {
  async function makeStoreFolder(): Promise<string> {
    const folder = await makeTempFolder();
    const store = await openLmdbStore({ path: folder });
    const log = await store.openLog("room");
    for (const byte of range(0, 50)) await log.append(new Uint8Array(20_000).fill(byte));
    await store.close();
    return folder;
  }

  // In a child, because the fault this guards against ends the process.
  async function openInChild(folder: string): Promise<string> {
    return startChild("open-store.mjs", [folder]).nextLine();
  }

  test.each([
    { what: "text", damage: (path: string) => writeFile(path, "not a database") },
    { what: "zeros", damage: (path: string) => writeFile(path, new Uint8Array(100_000)) },
    { what: "only its first page", damage: (path: string) => truncate(path, 8192) },
    { what: "cut off before its newest pages", damage: (path: string) => truncate(path, 3 * 8192) },
  ])("[UL28] $what: `storage`, and the file stays as it is", async ({ damage }) => {
    const folder = await makeStoreFolder();
    const path = join(folder, "data.mdb");
    await damage(path);
    const before = await readFile(path);
    expect(await openInChild(folder)).toBe(
      `SessionError storage: ${path} is damaged or no LMDB file. Restore it from a copy, or move it away to start an empty store.`,
    );
    expect(Buffer.compare(await readFile(path), before)).toBe(0);
    await rm(path);
    expect(await openInChild(folder)).toBe("opened");
  });

  test("[UL28] an empty data file, as a crash while making it leaves it, is a new store", async () => {
    const folder = await makeTempFolder();
    await writeFile(join(folder, "data.mdb"), "");
    expect(await openInChild(folder)).toBe("opened");
  });

  test("[UL28] a store of a newer layout is `version_mismatch` and stays as it is", async () => {
    const folder = await makeStoreFolder();
    const root = openLmdb(folder, { noSubdir: false, overlappingSync: false });
    await root.openDB("catalog", { encoding: "json", useVersions: true }).put(["layout"], 2, 0);
    await root.close();
    const error = await expectCode(openLmdbStore({ path: folder }), "version_mismatch");
    expect(error.message).toBe(`The store in ${folder} has layout 2, this version knows 1. Update Coppice to open it.`);
  });

  test("[UL28] a file of another version of LMDB is `version_mismatch` and stays as it is", async () => {
    const folder = await makeStoreFolder();
    const path = join(folder, "data.mdb");
    const file = await readFile(path);
    file.writeUInt32LE(1, 28); // MDB_meta.mm_version of the first root page
    await writeFile(path, file);
    expect(await openInChild(folder)).toBe(
      `SessionError version_mismatch: ${path} was written by another version of LMDB. Open it with the Coppice that wrote it.`,
    );
    expect(Buffer.compare(await readFile(path), file)).toBe(0);
  });
});
