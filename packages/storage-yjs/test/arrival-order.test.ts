import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { ArrivalOrder } from "../src/arrival-order.ts";
import { bytesToHex, headerText, hexToBytes } from "./helpers.ts";
import { appendChain, createReplica, deliver, openReplica, sessionId } from "./replica.ts";

interface Place {
  readonly clientId: number;
  readonly clock: number;
}

/** Places in the order of the list of a doc. */
function placesOf(doc: Y.Doc): Place[] {
  const places: Place[] = [];
  for (let item = doc.getArray("entries")._start; item !== null; item = item.right) {
    for (let offset = 0; offset < item.length; offset++) {
      places.push({ clientId: item.id.client, clock: item.id.clock + offset });
    }
  }
  return places;
}

function sortPlaces(order: ArrivalOrder, doc: Y.Doc): Place[] {
  return order.sort(placesOf(doc), (place) => place);
}

describe("arrival order", () => {
  test("[YS60] the order of arrival is written as the golden vector says", () => {
    const doc = new Y.Doc();
    const order = new ArrivalOrder();
    order.follow(doc);
    const push = (client: number, count: number): Uint8Array => {
      const other = new Y.Doc();
      Y.applyUpdate(other, Y.encodeStateAsUpdate(doc));
      // After what it is applied to: Yjs takes another id when a doc receives what it has not written itself.
      other.clientID = client;
      for (let left = count; left > 0; left--) other.getArray("entries").push([Uint8Array.of(client)]);
      return Y.encodeStateAsUpdate(other, Y.encodeStateVector(doc));
    };
    Y.applyUpdate(doc, push(300, 2));
    Y.applyUpdate(doc, push(300, 1));
    const [five, seven] = [push(5, 2), push(7, 1)];
    Y.applyUpdate(doc, Y.mergeUpdates([five, seven]));
    Y.applyUpdate(doc, push(5, 1));
    // Version; three clients: 300, 5, 7; three batches: three of the first, two of the second with one of the third, one.
    const golden = "01" + "03ac020507" + "03" + "010003" + "0201020201" + "010101";
    expect(bytesToHex(order.encode())).toBe(golden);
    const decoded = ArrivalOrder.decode(hexToBytes(golden));
    expect(decoded && bytesToHex(decoded.encode())).toBe(golden);
  });

  test("[YS60] other bytes give nothing", () => {
    const good = "0101050101" + "0003";
    expect(ArrivalOrder.decode(hexToBytes(good))).toBeDefined();
    const bad = [
      "",
      `00${good.slice(2)}`,
      "0101050101" + "0103",
      ...["01", "0101", "01010501", "010105010100"],
      `${good}00`,
    ];
    for (const hex of bad) expect(ArrivalOrder.decode(hexToBytes(hex))).toBeUndefined();
    for (const hex of ["02", `02${good.slice(2)}`]) {
      expect(() => ArrivalOrder.decode(hexToBytes(hex))).toThrow(expect.objectContaining({ code: "version_mismatch" }));
    }
  });

  test("[YS61] records are numbered as they come, whatever their place in the log, also when it is loaded merged", () => {
    const step = fc.record({
      client: fc.integer({ min: 1, max: 4 }),
      count: fc.integer({ min: 1, max: 3 }),
      skip: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        const doc = new Y.Doc();
        const order = new ArrivalOrder();
        order.follow(doc);
        const writers = [1, 2, 3, 4].map((clientID) => Object.assign(new Y.Doc(), { clientID }));
        const seen: Place[] = [];
        for (const { client, count, skip } of steps) {
          const writer = writers[client - 1] as Y.Doc;
          if (!skip) Y.applyUpdate(writer, Y.encodeStateAsUpdate(doc));
          for (let left = count; left > 0; left--) writer.getArray("entries").push([Uint8Array.of(client)]);
          const before = new Set(placesOf(doc).map(({ clientId, clock }) => `${clientId} ${clock}`));
          Y.applyUpdate(doc, Y.encodeStateAsUpdate(writer));
          seen.push(...placesOf(doc).filter(({ clientId, clock }) => !before.has(`${clientId} ${clock}`)));
          expect(sortPlaces(order, doc)).toEqual(seen);
        }
        const merged = new Y.Doc();
        const stored = ArrivalOrder.decode(order.encode());
        stored?.follow(merged);
        Y.applyUpdate(merged, Y.encodeStateAsUpdate(doc));
        expect(stored && sortPlaces(stored, merged)).toEqual(seen);
        expect(stored?.covers(order)).toBe(true);
      }),
    );
  });

  test("[YS61] what is not known to have arrived comes last, and an order that knows less does not cover", () => {
    const doc = new Y.Doc();
    doc.clientID = 1;
    doc.getArray("entries").push([Uint8Array.of(1)]);
    const order = new ArrivalOrder();
    order.addNew(doc);
    doc.getArray("entries").push([Uint8Array.of(2)]);
    const places = placesOf(doc).reverse();
    expect(order.sort(places, (place) => place)).toEqual([...places].reverse());
    const newer = new ArrivalOrder();
    newer.addNew(doc);
    expect([order.covers(newer), newer.covers(order)]).toEqual([false, true]);
  });

  test("[YS62] `afterEntrySeq` goes on where it was after a reopen from a merged log", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    [first, second].forEach(({ doc }, index) => {
      doc.clientID = 10 - index;
    });
    deliver(first, second);
    await appendChain(first, "a1", "a2");
    await second.storage.appendEntry({ type: "custom", id: "b1", parentId: null, timestamp: "t", customType: "x" });
    deliver(second, first);
    await appendChain(first, "a3");
    const arrivals = new ArrivalOrder();
    const doc = new Y.Doc();
    arrivals.follow(doc);
    for (const update of first.log) Y.applyUpdate(doc, update);
    const idsAfter = async (replica: Awaited<ReturnType<typeof openReplica>>, seq: number) =>
      (await replica.storage.getEntries({ afterEntrySeq: seq })).map(({ id }) => id);
    expect(await idsAfter(first, 0)).toEqual(["a1", "a2", "b1", "a3"]);
    const merged = new Y.Doc();
    const stored = ArrivalOrder.decode(arrivals.encode()) as ArrivalOrder;
    stored.follow(merged);
    Y.applyUpdate(merged, Y.mergeUpdates(first.log));
    const reopened = await openReplica("device-a", { doc: merged, arrivals: stored });
    expect(await idsAfter(reopened, 0)).toEqual(["a1", "a2", "b1", "a3"]);
    expect((await reopened.storage.getEntries()).map(({ id }) => id)).not.toEqual(["a1", "a2", "b1", "a3"]);
    await appendChain(reopened, "a4");
    expect(await idsAfter(reopened, 3)).toEqual(["a3", "a4"]);
  });

  test("[YS62] what a crash took arrives when it comes again", async () => {
    const a = await createReplica("device-a");
    await appendChain(a, "a1");
    const order = new ArrivalOrder();
    const b = await openReplica("device-b");
    const stop = order.follow(b.doc);
    const durable = [...b.log];
    deliver(a, b);
    stop();
    // Saved with what was delivered; the crash takes that from the log.
    const arrivals = ArrivalOrder.decode(order.encode());
    const again = await openReplica("device-b", { log: durable, arrivals });
    arrivals?.follow(again.doc);
    again.doc.clientID = 7;
    await again.storage.create(headerText(sessionId));
    await appendChain(again, "b1");
    deliver(a, again);
    const ids = (await again.storage.getEntries({ afterEntrySeq: 0 })).map(({ id }) => id);
    expect(ids).toEqual(["b1", "a1"]);
  });

  test("[YS62] an order is written without what is not durable", async () => {
    const a = await createReplica("device-a");
    const order = new ArrivalOrder();
    order.follow(a.doc);
    await appendChain(a, "a1", "a2");
    const whole = ArrivalOrder.decode(order.encode());
    const durable = ArrivalOrder.decode(order.encodeWithout(new Map([[a.doc.clientID, 2]])));
    expect(whole?.covers(order)).toBe(true);
    expect(durable?.covers(order)).toBe(false);
    expect(order.encodeWithout(new Map())).toEqual(order.encode());
    const before = new ArrivalOrder();
    const doc = new Y.Doc();
    for (const update of a.log.slice(0, 2)) Y.applyUpdate(doc, update);
    before.addNew(doc);
    expect(durable?.encode()).toEqual(before.encode());
  });
});
