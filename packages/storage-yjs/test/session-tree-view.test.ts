import { expect, test } from "vitest";
import * as Y from "yjs";
import { nodeRecordCrypto } from "../src/node/node-record-crypto.ts";
import type { RecordCrypto } from "../src/record-crypto.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import type { SessionNode } from "../src/session-tree-view.ts";
import { headerText, testKey } from "./helpers.ts";
import { appendChain, createReplica, deliver, message, openReplica, sessionId } from "./replica.ts";

/** Counts the sealed parts that are opened, headers and payloads alike. */
function countOpened(): { crypto: RecordCrypto; counted: { opened: number } } {
  const counted = { opened: 0 };
  const crypto: RecordCrypto = {
    ...nodeRecordCrypto,
    open(...given) {
      counted.opened++;
      return nodeRecordCrypto.open(...given);
    },
  };
  return { crypto, counted };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("[YS160] the tree can be looked at from every side, and no content is opened for it", async () => {
  const writer = await createReplica("device-a");
  await appendChain(writer, ...Array.from({ length: 200 }, (_, index) => `e${index + 1}`));
  const { storage } = writer;
  await storage.setLeafId("e3");
  await storage.appendEntry(message("aside", "e3"));
  const { crypto, counted } = countOpened();
  const { storage: reader } = await openReplica("device-b", { log: writer.log, crypto });
  const opened = counted.opened;
  const view = reader.treeView;
  const all = view.nodes();
  expect(all.length).toBe(view.size);
  for (const { id } of all) {
    expect(view.get(id)?.id).toBe(id);
    expect(view.has(id)).toBe(true);
    view.children(id);
    view.label(id);
  }
  expect(view.children("e3").map(({ id }) => id)).toEqual(["e4", "aside"]);
  expect(view.tips().map(({ id }) => id)).toContain("aside");
  expect(view.pathToRoot("aside").map(({ id }) => id)).toContain("e3");
  expect(view.parentOf(view.get("aside") as SessionNode)?.id).toBe("e3");
  expect(view.depth("e3")).toBe(view.pathToRoot("e3").length);
  expect(view.byType("leaf")).toHaveLength(1);
  expect([view.waiting(), view.sessionName()]).toEqual([[], undefined]);
  expect(counted.opened).toBe(opened);
});

test("[YS160] the list of nodes is frozen and the same until something comes, and the view outlives a rebase", async () => {
  const replica = await createReplica("device-a");
  await appendChain(replica, "e1", "e2", "e3");
  const { treeView } = replica.storage;
  const before = treeView.nodes();
  expect(treeView.nodes()).toBe(before);
  expect(Object.isFrozen(before)).toBe(true);
  await replica.storage.appendEntry(message("more", "e3"));
  expect(treeView.nodes()).not.toBe(before);
  const doc = new Y.Doc();
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(replica.doc));
  replica.storage.rebase(doc, []);
  expect(treeView.has("more")).toBe(true);
  expect(treeView.size).toBe(4);
});

test("[YS161] changes are told before subscribe tells them, with what is known unopened, and outside of the append", async () => {
  const writer = await createReplica("device-a");
  const { crypto, counted } = countOpened();
  const reader = await openReplica("device-b", { log: writer.log, crypto });
  const told: string[] = [];
  const stop = reader.storage.subscribeToTree(({ added, remote }) => {
    told.push(`${remote} ${added.map(({ id, role, deviceId }) => `${id} ${role} ${deviceId}`).join(", ")}`);
  });
  await appendChain(writer, "e1");
  await writer.storage.appendBatch(["e2", "e3"].map((id, at) => JSON.stringify(message(id, `e${at + 1}`))));
  counted.opened = 0;
  deliver(writer, reader);
  expect(told).toEqual([]);
  await settled();
  expect(told).toEqual(["true e1 user device-a, e2 user device-a, e3 user device-a"]);
  // Their headers, and no payload.
  expect(counted.opened).toBe(3);
  const order: string[] = [];
  reader.storage.subscribe(() => order.push("subscribe"));
  reader.storage.subscribeToTree(() => order.push("tree"));
  await reader.storage.appendEntry(message("own", "e3"));
  await settled();
  expect(order).toEqual(["tree", "subscribe"]);
  expect(told.at(-1)).toBe("false own user device-b");
  stop();
  await reader.storage.appendEntry(message("later", "own"));
  await settled();
  expect(told).toHaveLength(2);
});

test("[YS161] a header and records that do not open are told too, without entries", async () => {
  const reader = await openReplica("device-b");
  const told: number[] = [];
  reader.storage.subscribeToTree(({ added }) => told.push(added.length));
  const writer = await openReplica("device-a");
  await writer.storage.create(headerText(sessionId));
  deliver(writer, reader);
  await settled();
  expect(told).toEqual([0]);
  const stranger = await openReplica("device-c", { keys: deriveRoomKeys(testKey(9), sessionId) });
  await stranger.storage.create(headerText(sessionId));
  deliver(stranger, reader);
  await settled();
  expect(told).toEqual([0, 0]);
  expect(reader.storage.getUnreadable().damaged).toBe(1);
});
