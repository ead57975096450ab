import { createUuidV7 } from "@coppice/core";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { besideForeignWriter, createForeignIds, ForeignWriter } from "@coppice/testkit";
import * as Y from "yjs";
import type { StoragePlace } from "./coppice-storages.ts";

/** Sessions on Yjs documents in memory: plain and sealed, alone and with a second device that writes all the time. */
export const sharedPlaceMakers: Readonly<Record<string, () => Promise<SharedPlace>>> = {
  "yjs, plain": () => createSharedPlace({ isSealed: false, isAlone: true }),
  "yjs, plain, beside a foreign writer": () => createSharedPlace({ isSealed: false, isAlone: false }),
  "yjs, sealed, beside a foreign writer": () => createSharedPlace({ isSealed: true, isAlone: false }),
};

/** A place, and how many entries the second device has written there. */
export interface SharedPlace extends StoragePlace {
  readonly foreignEntries: number;
}

async function createSharedPlace({ isSealed, isAlone }: { isSealed: boolean; isAlone: boolean }): Promise<SharedPlace> {
  const sessionId = createUuidV7();
  const keys = isSealed ? deriveRoomKeys(new Uint8Array(32).fill(7), sessionId) : undefined;
  const shared = { sessionId, keys, synced: true };
  const foreignDoc = new Y.Doc();
  const foreign = await YjsSessionStorage.open({
    ...shared,
    doc: foreignDoc,
    deviceId: "phone",
    createId: createForeignIds(),
  });
  // It branches off anything: neither pi's session nor its harness looks at children.
  const writer = new ForeignWriter(foreign, { isBranchingOffOthers: true });
  let doc: Y.Doc | undefined;
  let storage: YjsSessionStorage | undefined;
  const open = async (): Promise<StoragePlace["storage"]> => {
    await writer.settle();
    await storage?.close();
    const state = doc && Y.encodeStateAsUpdate(doc);
    doc?.destroy();
    doc = new Y.Doc();
    if (state !== undefined) Y.applyUpdate(doc, state);
    if (!isAlone) linkDocs(doc, foreignDoc);
    storage = await YjsSessionStorage.open({ ...shared, doc, deviceId: "laptop" });
    return isAlone ? storage : besideForeignWriter(storage, writer);
  };
  let opened = await open();
  await storage?.create(
    JSON.stringify({ type: "session", version: 3, id: sessionId, timestamp: new Date().toISOString(), cwd: "/" }),
  );
  return {
    get storage() {
      return opened;
    },
    get foreignEntries() {
      return writer.entryCount;
    },
    async reopen() {
      opened = await open();
      return opened;
    },
    // Appends are written in the order of the calls; one of nothing comes after all that were not awaited.
    settle: async () => void (await opened.appendJson([])),
    async close() {
      await writer.close();
      await Promise.all([opened.close(), foreign.close()]);
    },
  };
}

/** Applies each update of one to the other at once, until the first is destroyed. */
function linkDocs(a: Y.Doc, b: Y.Doc): void {
  const forward = (to: Y.Doc) => (update: Uint8Array, origin: unknown) => {
    if (origin !== "link") Y.applyUpdate(to, update, "link");
  };
  const [toA, toB] = [forward(a), forward(b)];
  Y.applyUpdate(a, Y.encodeStateAsUpdate(b), "link");
  Y.applyUpdate(b, Y.encodeStateAsUpdate(a), "link");
  a.on("update", toB);
  b.on("update", toA);
  a.once("destroy", () => b.off("update", toA));
}
