import { describeSessionStorage, type SessionStorageFactory } from "@coppice/testkit";
import * as Y from "yjs";
import type { RoomKeys } from "../src/room-keys.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { YjsSessionStorage } from "../src/yjs-session-storage.ts";
import { headerText, testKey } from "./helpers.ts";

const sessionId = "0198f5a2-7c3b-7000-8000-0123456789ab";

/** Sessions whose updates are kept as a device's local log keeps them; reopening applies them to a new doc. */
function createFactory(keys?: RoomKeys): SessionStorageFactory {
  return async () => {
    const log: Uint8Array[] = [];
    const open = async (): Promise<YjsSessionStorage> => {
      const doc = new Y.Doc();
      for (const update of log) Y.applyUpdate(doc, update);
      doc.on("update", (update: Uint8Array) => log.push(update));
      return YjsSessionStorage.open({ doc, sessionId, keys, deviceId: "device-a", synced: true });
    };
    let storage = await open();
    await storage.create(headerText(sessionId));
    return {
      storage,
      reopen: async () => {
        await storage.close();
        storage = await open();
        return storage;
      },
      close: () => storage.close(),
    };
  };
}

describeSessionStorage("Yjs, plain", createFactory());
describeSessionStorage("Yjs, sealed", createFactory(deriveRoomKeys(testKey(), sessionId)));
