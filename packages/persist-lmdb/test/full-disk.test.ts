import { open } from "node:fs/promises";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { range } from "@coppice/testkit";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readMetaPages } from "../src/meta-pages.ts";
import { buildIfStale, type Child, startChild } from "./child-process.ts";
import { canMount, mountSmallDisk } from "./small-disk.ts";
import { makeTempFolder } from "./temp-folder.ts";

beforeAll(buildIfStale);

const full = /^SessionError storage_full: No space left for the store in \/.*\. Free some space and try again\.$/;

async function ask(child: Child, line: string): Promise<unknown[]> {
  child.write(line);
  return JSON.parse(await child.nextLine()) as unknown[];
}

// What is tested here ends the process when it fails, so the stores are in children.
describe.skipIf(!canMount)("a disk that is full", () => {
  test("[UL34] lmdb is never asked to write where it may find no space; appends go on when there is some", async () => {
    const disk = await mountSmallDisk(4);
    const child = startChild("append-limited.mjs", [join(disk.folder, "store")]);
    expect(await child.nextLine()).toBe("open");
    expect(await ask(child, "a 1000")).toEqual([1]);
    let appended = 1;
    for (let round = 0; round < 3; round++) {
      await disk.fill();
      for (const size of [30_000, 150_000, 2_000_000, 1000]) {
        const answers = await ask(child, `a ${size}, a ${size}, b ${size}`);
        for (const answer of answers) expect(answer).toMatch(full);
        expect(await ask(child, "a read")).toEqual([Array.from({ length: appended }, (_, index) => index + 1)]);
      }
      await disk.empty();
      expect(await ask(child, "a 30000")).toEqual([++appended]);
    }
    child.process.stdin?.end();
    // lmdb reports a write that failed on stderr, and writes behind a buffer's end while it does.
    expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
  });

  test("[UL34] filling the disk up itself, a store stops before its end and reads all it has", async () => {
    const disk = await mountSmallDisk(4);
    const child = startChild("append-limited.mjs", [join(disk.folder, "store")]);
    expect(await child.nextLine()).toBe("open");
    let appended = 0;
    for (;;) {
      const [answer] = await ask(child, "a 30000");
      if (typeof answer !== "number") {
        expect(answer).toMatch(full);
        break;
      }
      expect(answer).toBe(++appended);
    }
    expect(appended).toBeGreaterThan(20);
    expect(await ask(child, "a read")).toEqual([Array.from({ length: appended }, (_, index) => index + 1)]);
    child.process.stdin?.end();
    expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
  });

  test("[UL35] a store that is first opened on it is `storage_full`, and is made once there is space", async () => {
    const disk = await mountSmallDisk(4);
    const folder = join(disk.folder, "store");
    const openInChild = async (): Promise<unknown> => {
      const child = startChild("open-store.mjs", [folder]);
      const line = await child.nextLine();
      expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
      return line;
    };
    await disk.fill();
    expect(await openInChild()).toMatch(full);
    expect(await openInChild()).toMatch(full);
    await disk.empty();
    expect(await openInChild()).toBe("opened");
  });

  test("[UL35] a store that is there can be opened and read", async () => {
    const disk = await mountSmallDisk(4);
    const folder = join(disk.folder, "store");
    const first = startChild("append-limited.mjs", [folder]);
    expect(await first.nextLine()).toBe("open");
    expect(await ask(first, "a 1000, a 1000")).toEqual([1, 2]);
    first.process.stdin?.end();
    await first.ended;
    await disk.fill();
    const second = startChild("append-limited.mjs", [folder]);
    expect(await second.nextLine()).toBe("open");
    expect(await ask(second, "a read")).toEqual([[1, 2]]);
  });
});

test("[UL34] whatever is committed, it fits what was reserved: lmdb never makes the file longer", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const logs = await Promise.all(range(0, 40).map((index) => store.openLog(`log-${index}`)));
  const file = await open(join(folder, "data.mdb"), "r");
  onTestFinished(() => file.close());
  const commit = async (...writes: Promise<unknown>[]): Promise<void> => {
    await Promise.all(writes);
    const { lastPage, pageBytes } = readMetaPages(file.fd);
    // Had lmdb written behind the file's end, its last page would be that end.
    expect((await file.stat()).size).toBeGreaterThan((lastPage + 1) * pageBytes);
  };
  // Around the sizes at which a value gets a page, and one more, of its own.
  for (const size of [0, 100, 1000, 2000, 2100, 4050, 4100, 8100, 8200, 50_000, 3_000_000]) {
    const bytes = new Uint8Array(size);
    for (const count of size > 1_000_000 ? [1, 4] : [1, 40, 300]) {
      await commit(...range(0, count).map((index) => logs[index % logs.length]?.append(bytes) ?? expect.fail()));
      await commit(...range(0, count).map(() => logs[0]?.append(bytes) ?? expect.fail()));
      await commit(...logs.map((log) => log.writeDerived("index", bytes)));
    }
  }
  for (const [index, log] of logs.entries()) {
    await commit(
      index % 3 === 0 ? store.deleteLog(`log-${index}`) : log.replaceRange(1, log.lastSeq(), new Uint8Array(500)),
    );
    await commit(log.append(new Uint8Array(20_000)));
  }
});
