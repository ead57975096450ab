import type { SharedSession, Workspace } from "@coppice/client";
import type { Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cleanup, makeStore, openDevice, startRelay, waitFor } from "./src/rooms-under-test.ts";

const headerJson =
  '{"type":"session","version":3,"id":"imported","timestamp":"2026-02-03T04:05:06.000Z","cwd":"/tmp/x"}';
const entry = (id: string, parentId: string | null): string =>
  `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-02-03T04:05:07.000Z","message":{"role":"user","content":"${id}"}}`;
const moveTo = (id: string, parentId: string, targetId: string): string =>
  `{"type":"leaf","id":"${id}","parentId":"${parentId}","timestamp":"2026-02-03T04:05:08.000Z","targetId":"${targetId}"}`;
const lines = [entry("a", null), entry("b", "a"), entry("c", "b"), entry("d", "c")];

const cleanup = new Cleanup();
let relay: Relay;

beforeEach(async () => {
  relay = await startRelay(cleanup, await makeStore(cleanup));
});
afterEach(() => cleanup.run());

const openOnline = async (name: string): Promise<Workspace> =>
  openDevice(cleanup, { name, store: await makeStore(cleanup), relay: relay.url });

/** Imports the file while all of it comes from another device: the lines before `from` are read before that, the others after. */
async function importWhileAnotherDoes(fileLines: readonly string[], from: number): Promise<SharedSession> {
  const [laptop, desktop] = [await openOnline("laptop"), await openOnline("desktop")];
  const readLines = async function* (): AsyncGenerator<string> {
    yield* fileLines.slice(0, from);
    const there = await desktop.importSession({ headerJson, lines: fileLines });
    await there.session.waitUntilAcknowledged(30_000);
    await waitFor(
      (listener) => laptop.subscribe(listener),
      () => laptop.listSessions().length > 0,
    );
    const here = await laptop.openSession("imported");
    const lastId = (JSON.parse(fileLines.at(-1) ?? "") as { id: string }).id;
    await waitFor(
      (listener) => here.subscribe(listener),
      () => here.getAuthor(lastId)?.deviceId === "device-desktop",
    );
    yield* fileLines.slice(from);
  };
  const { session } = await laptop.importSession({ headerJson, lines: readLines() });
  return session;
}

describe("two devices that import one file at once", () => {
  it("[WS12] both stand where the file ends, also the one that finds every entry there already", async () => {
    const session = await importWhileAnotherDoes(lines, 0);
    expect(await session.storage.getLeafId()).toBe("d");
    expect(await session.storage.findEntries("leaf")).toEqual([]);
    const id = await session.session.appendMessage({ role: "user", content: "and on" });
    expect((await session.storage.getEntry(id))?.parentId).toBe("d");
  });

  it("[WS12] one that wrote only the first part of the file itself stands at its end all the same", async () => {
    const long = Array.from({ length: 600 }, (_, at) => entry(`e${at}`, at === 0 ? null : `e${at - 1}`));
    const session = await importWhileAnotherDoes(long, 512);
    expect(await session.storage.getLeafId()).toBe("e599");
    expect((await session.storage.getEntries()).map(({ id }) => id)).toEqual(long.map((_, at) => `e${at}`));
  });

  it("[WS12] where the file moved back to, the device stands", async () => {
    const session = await importWhileAnotherDoes([...lines, moveTo("e", "d", "b")], 0);
    expect(await session.storage.getLeafId()).toBe("b");
  });
});
