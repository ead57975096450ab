import {
  besideForeignWriter,
  createForeignIds,
  describeSessionStorage,
  ForeignWriter,
  type SessionStorageFactory,
} from "@coppice/testkit";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import type { RoomKeys } from "../src/room-keys.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { YjsSessionStorage } from "../src/yjs-session-storage.ts";
import { headerText, testKey } from "./helpers.ts";
import { linkDocs } from "./replica.ts";

const sessionId = "0198f5a2-7c3b-7000-8000-0123456789ab";
const sealed = deriveRoomKeys(testKey(), sessionId);

/** Sessions whose updates are kept as a device's local log keeps them; reopening applies them to a new doc. */
function createFactory(keys?: RoomKeys): SessionStorageFactory {
  return async () => {
    const device = await openDevice(keys);
    return { storage: device.storage, reopen: () => device.reopen(), close: () => device.storage.close() };
  };
}

/** The same while another device is connected and writes all the time: what is checked is every entry but its. */
function createFactoryBesideWriter(written: { entries: number }, keys?: RoomKeys): SessionStorageFactory {
  return async () => {
    const device = await openDevice(keys);
    const doc = new Y.Doc();
    let disconnect = linkDocs(device.doc, doc);
    const options = { doc, sessionId, keys, deviceId: "device-b", synced: true, createId: createForeignIds() };
    const foreign = await YjsSessionStorage.open(options);
    const writer = new ForeignWriter(foreign);
    return {
      storage: besideForeignWriter(device.storage, writer),
      reopen: async () => {
        await writer.settle();
        disconnect();
        const storage = await device.reopen();
        disconnect = linkDocs(device.doc, doc);
        return besideForeignWriter(storage, writer);
      },
      close: async () => {
        await writer.close();
        written.entries += writer.entryCount;
        await Promise.all([device.storage.close(), foreign.close()]);
      },
    };
  };
}

async function openDevice(keys: RoomKeys | undefined) {
  const log: Uint8Array[] = [];
  const open = async () => {
    const doc = new Y.Doc();
    for (const update of log) Y.applyUpdate(doc, update);
    doc.on("update", (update: Uint8Array) => log.push(update));
    return { doc, storage: await YjsSessionStorage.open({ doc, sessionId, keys, deviceId: "device-a", synced: true }) };
  };
  const device = {
    ...(await open()),
    reopen: async () => {
      await device.storage.close();
      Object.assign(device, await open());
      return device.storage;
    },
  };
  await device.storage.create(headerText(sessionId));
  return device;
}

describeSessionStorage("Yjs, plain", createFactory());
describeSessionStorage("Yjs, sealed", createFactory(sealed));

describe("[YS121] own entries of a session in which another device writes all the time", () => {
  const written = { entries: 0 };
  describeSessionStorage("Yjs, plain, beside a foreign writer", createFactoryBesideWriter(written));
  describeSessionStorage("Yjs, sealed, beside a foreign writer", createFactoryBesideWriter(written, sealed));

  test("[YS121] the other device has written", () => {
    expect(written.entries).toBeGreaterThan(1_000);
  });
});
