import { describe, expect, test } from "vitest";
import { nodeRecordCrypto } from "../src/node/node-record-crypto.ts";
import { PayloadCache } from "../src/payload-cache.ts";
import type { RecordCrypto } from "../src/record-crypto.ts";
import { appendChain, createReplica, message, openReplica } from "./replica.ts";

/** What of `keys` a cache holds; asking makes them the ones used last, in this order. */
function heldOf(cache: PayloadCache<string, number>, ...keys: string[]): (number | undefined)[] {
  return keys.map((key) => cache.get(key));
}

describe("the cache of payloads", () => {
  test("[YS17] keeps what was used last, up to its size", () => {
    const cache = new PayloadCache<string, number>(10);
    cache.set("a", 1, 4);
    cache.set("b", 2, 4);
    expect(cache.get("a")).toBe(1);
    cache.set("c", 3, 4);
    expect(heldOf(cache, "a", "b", "c")).toEqual([1, undefined, 3]);
  });

  test("[YS17] one that takes the place of another counts with its own size alone, and as used last", () => {
    const cache = new PayloadCache<string, number>(10);
    cache.set("a", 1, 4);
    cache.set("b", 2, 4);
    for (let round = 0; round < 5; round++) cache.set("a", 10 + round, 6);
    expect(heldOf(cache, "a", "b")).toEqual([14, 2]);
    cache.set("a", 20, 1);
    cache.set("c", 3, 5);
    expect(heldOf(cache, "b", "a", "c")).toEqual([2, 20, 3]);
    cache.set("b", 4, 4);
    cache.set("d", 5, 1);
    expect(heldOf(cache, "a", "b", "c", "d")).toEqual([undefined, 4, 3, 5]);
  });

  test("[YS17] one larger than the whole cache is not kept and puts no other out, and what it replaces is gone", () => {
    const cache = new PayloadCache<string, number>(10);
    cache.set("a", 1, 5);
    cache.set("b", 2, 5);
    cache.set("large", 3, 11);
    expect(heldOf(cache, "a", "b", "large")).toEqual([1, 2, undefined]);
    cache.set("a", 4, 11);
    cache.set("c", 5, 5);
    expect(heldOf(cache, "a", "b", "c")).toEqual([undefined, 2, 5]);
    cache.set("whole", 6, 10);
    expect(heldOf(cache, "b", "c", "whole")).toEqual([undefined, undefined, 6]);
  });

  test("[YS17] an entry read twice is opened once", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1");
    const replica = await openReplica("device-b", { log: [...source.log] });
    const [first, again] = [await replica.storage.getEntry("e1"), await replica.storage.getEntry("e1")];
    expect(first).toEqual(message("e1", null));
    expect(again).toBe(first);
  });

  test("[YS17] reading a session of 20 MB leaves the last 16 MiB of it in memory, and no more", async () => {
    const count = 200;
    const text = "x".repeat(100_000);
    const lines = Array.from({ length: count }, (_, index) =>
      JSON.stringify(message(`e${index}`, index === 0 ? null : `e${index - 1}`, text)),
    );
    const source = await createReplica("device-a");
    await source.storage.appendJson(lines);
    let opened = 0;
    const crypto: RecordCrypto = {
      ...nodeRecordCrypto,
      open: (...sealed) => {
        opened++;
        return nodeRecordCrypto.open(...sealed);
      },
    };
    const { storage } = await openReplica("device-b", { log: [...source.log], crypto });
    const countOpened = async (read: () => Promise<unknown>): Promise<number> => {
      const before = opened;
      await read();
      return opened - before;
    };
    expect(await countOpened(() => storage.getEntries())).toBe(count);

    let [bytes, fitting] = [0, 0];
    for (const line of lines.toReversed()) {
      bytes += line.length;
      if (bytes > 16 * 1024 * 1024) break;
      fitting++;
    }
    const readBack = async (first: number, last: number): Promise<void> => {
      for (let index = last; index >= first; index--) await storage.getEntry(`e${index}`);
    };
    expect(await countOpened(() => readBack(count - fitting, count - 1))).toBe(0);
    expect(await countOpened(() => readBack(count - fitting - 1, count - fitting - 1))).toBe(1);
  });
});
