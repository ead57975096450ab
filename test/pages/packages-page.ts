/** A page that loads the packages as an app would, and what it is asked to do. */
import { openWorkspace } from "@coppice/client";
import { Session } from "@coppice/core";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { closeCodes } from "@coppice/wire";
import * as Y from "yjs";

const page = {
  loaded: [openWorkspace, Session, YjsSessionStorage, closeCodes].map((value) => typeof value),
  /** Writes an entry into a sealed session and has another document read what was written. */
  async writeAndRead(text: string): Promise<unknown> {
    const keys = deriveRoomKeys(new Uint8Array(32).fill(7), "session");
    const written = new Y.Doc();
    const storage = await YjsSessionStorage.open({
      ...{ doc: written, sessionId: "session", deviceId: "phone", keys, synced: true },
      flushed: () => Promise.resolve(),
    });
    const header = { type: "session", version: 3, id: "session", timestamp: new Date(0).toISOString(), cwd: "/" };
    await storage.create(JSON.stringify(header));
    await new Session(storage).appendMessage({ role: "user", content: text });

    const doc = new Y.Doc();
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(written));
    const read = await YjsSessionStorage.open({
      ...{ doc, sessionId: "session", deviceId: "laptop", keys, synced: true },
      flushed: () => Promise.resolve(),
    });
    const { messages } = await new Session(read).buildContext();
    return messages;
  },
};

export type PackagesPage = typeof page;
Object.assign(globalThis, { page });
