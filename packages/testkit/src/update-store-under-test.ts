import type { StoredUpdate, UpdateLog, UpdateStore } from "@coppice/core";
import { afterEach, beforeEach } from "vitest";

/** One place where a store keeps its data, for one test. */
export interface UpdateStoreUnderTest {
  /** Opens a store over the same data each time, while those opened earlier are still open or after they were closed. */
  open(): Promise<UpdateStore>;
  /** Removes the data; all stores have been closed. */
  remove(): Promise<void>;
}

/** Makes a place without any data. */
export type UpdateStoreFactory = () => Promise<UpdateStoreUnderTest>;

/** The stores that one test opens over its place. */
export interface OpenUpdateStores {
  /** One more. */
  open(): Promise<UpdateStore>;
  /** A log of one more. */
  openLog(): Promise<UpdateLog>;
}

/** Gives each test of the suite that is being described a place of its own, and closes and removes it afterwards. */
export function useUpdateStores(factory: UpdateStoreFactory): OpenUpdateStores {
  let place: UpdateStoreUnderTest;
  let opened: UpdateStore[] = [];

  beforeEach(async () => {
    place = await factory();
    opened = [];
  });

  afterEach(async () => {
    for (const store of opened) await store.close();
    await place.remove();
  });

  const open = async (): Promise<UpdateStore> => {
    const store = await place.open();
    opened.push(store);
    return store;
  };
  return { open, openLog: async () => (await open()).openLog("room") };
}

/** The bytes as an update. */
export function bytesOf(...bytes: number[]): Uint8Array {
  return new Uint8Array(bytes);
}

/** Bytes that differ from place to place, so that a shifted or repeated page shows. */
export function patternOf(length: number): Uint8Array {
  const pattern = new Uint8Array(length);
  for (let position = 0; position < length; position++) pattern[position] = (position ^ (position >>> 8)) & 0xff;
  return pattern;
}

/** Whole numbers from `start` inclusive to `end` exclusive. */
export function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

/** Everything behind `after`. */
export function readAll(log: UpdateLog, after?: number): Promise<StoredUpdate[]> {
  return collect(log.read(after));
}

/** Everything that a reading gives. */
export async function collect(reading: AsyncIterable<StoredUpdate>): Promise<StoredUpdate[]> {
  const stored: StoredUpdate[] = [];
  for await (const entry of reading) stored.push(entry);
  return stored;
}

/** Appends one update after the other, each of one byte. */
export async function appendEach(log: UpdateLog, bytes: readonly number[]): Promise<void> {
  for (const byte of bytes) await log.append(bytesOf(byte));
}

/** Settles at the first call of the listener, which is then taken away. */
export function nextCall(listen: (listener: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = listen(() => {
      stop();
      resolve();
    });
  });
}

/** Whether two updates have the same bytes; `toEqual` and `every` are too slow for megabytes. */
export function equalBytes(actual: Uint8Array | undefined, expected: Uint8Array): boolean {
  if (actual?.length !== expected.length) return false;
  for (let at = 0; at < expected.length; at++) if (actual[at] !== expected[at]) return false;
  return true;
}
