import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import type { PreparedRecord } from "../src/record-codec.ts";
import type { RecordHeader } from "../src/record-header.ts";
import { type LogChange, type LogRecord, MAX_TRANSACTION_BYTES, RecordLog } from "../src/record-log.ts";

const header = {} as RecordHeader;

/** A record whose bytes do not depend on its place. */
function fixedRecord(...bytes: number[]): PreparedRecord {
  return { header, byteLength: bytes.length, placeAt: () => Uint8Array.from(bytes) };
}

/** A log with the list that its changes make when they are applied one after another, and those changes. */
function openLog(clientId: number, update?: Uint8Array) {
  const doc = new Y.Doc();
  if (update !== undefined) Y.applyUpdate(doc, update);
  doc.clientID = clientId;
  const list: LogRecord[] = [];
  const changes: LogChange[] = [];
  const log = new RecordLog(doc, (change) => {
    changes.push(change);
    for (const { position, records } of change.runs) list.splice(position, 0, ...records);
  });
  return { doc, log, list, changes, array: doc.getArray<unknown>("entries") };
}

type OpenedLog = ReturnType<typeof openLog>;

function sync(from: OpenedLog, to: OpenedLog): void {
  Y.applyUpdate(to.doc, Y.encodeStateAsUpdate(from.doc, Y.encodeStateVector(to.doc)), "remote");
}

function bytesOf(list: readonly LogRecord[]): Uint8Array[] {
  return list.map((record) => record.bytes);
}

describe("the doc's shape", () => {
  test("[YS1] appends are what pushing the same bytes to the array `entries` makes", () => {
    const own = openLog(7);
    own.log.append([fixedRecord(1), fixedRecord(2, 2)]);
    own.log.append([fixedRecord(3)]);
    const stock = new Y.Doc();
    stock.clientID = 7;
    stock.getArray("entries").push([Uint8Array.of(1), Uint8Array.of(2, 2)]);
    stock.getArray("entries").push([Uint8Array.of(3)]);
    expect(Y.encodeStateAsUpdate(own.doc)).toEqual(Y.encodeStateAsUpdate(stock));
    expect(own.array.toArray()).toEqual([Uint8Array.of(1), Uint8Array.of(2, 2), Uint8Array.of(3)]);
    expect(own.array.get(2)).toEqual(Uint8Array.of(3));
  });

  test("[YS1] each struct in an update has its predecessor as origin, nothing to its right, and deletes nothing", () => {
    const [first, second] = [openLog(1), openLog(2)];
    first.log.append([fixedRecord(1)]);
    sync(first, second);
    second.log.append([fixedRecord(2)]);
    sync(second, first);
    first.log.append([fixedRecord(3)]);
    const { structs, ds } = Y.decodeUpdate(Y.encodeStateAsUpdate(first.doc));
    const shapes = structs.map((struct) =>
      struct instanceof Y.Item
        ? [struct.content.constructor, struct.origin?.client, struct.rightOrigin, struct.parent]
        : struct,
    );
    expect(shapes).toEqual([
      [Y.ContentBinary, 1, null, null],
      [Y.ContentBinary, undefined, null, "entries"],
      [Y.ContentBinary, 2, null, null],
    ]);
    expect(ds.clients.size).toBe(0);
  });

  test("[YS1] a record is told the client id and clock under which it then stands", () => {
    const { doc, log } = openLog(7);
    const places: unknown[] = [];
    const spying = (byte: number): PreparedRecord => ({
      header,
      byteLength: 1,
      placeAt: (place) => {
        places.push(place);
        return Uint8Array.of(byte);
      },
    });
    log.append([spying(1), spying(2)]);
    doc.clientID = 8;
    log.append([spying(3)]);
    expect(places).toEqual([
      { clientId: 7, clock: 0 },
      { clientId: 7, clock: 1 },
      { clientId: 8, clock: 0 },
    ]);
    const stored = [...doc.store.clients].flatMap(([client, structs]) => structs.map((s) => [client, s.id.clock]));
    expect(stored).toEqual([
      [7, 0],
      [7, 1],
      [8, 0],
    ]);
  });

  test("[YS1] a record that cannot be made leaves the doc as it was", () => {
    const { doc, log, changes } = openLog(7);
    const failing: PreparedRecord = {
      header,
      byteLength: 1,
      placeAt: () => {
        throw new Error("no randomness");
      },
    };
    expect(() => log.append([fixedRecord(1), failing])).toThrow("no randomness");
    expect(doc.getArray("entries").length).toBe(0);
    expect(changes).toEqual([]);
  });

  test("[YS2] a batch is cut into updates of at most 256 KiB, a larger record travels alone", () => {
    const { doc, log, list } = openLog(7);
    const updates: Uint8Array[] = [];
    doc.on("update", (update: Uint8Array) => updates.push(update));
    const sizes = [...Array<number>(70).fill(10_000), 300_000, 5, 6];
    log.append(sizes.map((byteLength) => ({ header, byteLength, placeAt: () => new Uint8Array(byteLength) })));
    expect(list.map(({ bytes }) => bytes.length)).toEqual(sizes);
    const large = updates.filter((update) => update.length > MAX_TRANSACTION_BYTES);
    expect(large.map((update) => Y.decodeUpdate(update).structs.length)).toEqual([1]);
    expect(updates.length).toBe(5);
  });
});

describe("positions", () => {
  test("[YS3] records that were in the doc before are told once, in log order", () => {
    const first = openLog(1);
    first.log.append([fixedRecord(1), fixedRecord(2)]);
    const second = openLog(2, Y.encodeStateAsUpdate(first.doc));
    expect(second.changes).toEqual([
      {
        remote: true,
        runs: [
          {
            position: 0,
            records: [
              { clientId: 1, clock: 0, bytes: Uint8Array.of(1) },
              { clientId: 1, clock: 1, bytes: Uint8Array.of(2) },
            ],
          },
        ],
      },
    ]);
    expect(openLog(3).changes).toEqual([]);
  });

  test("[YS3] records that land in the middle get the position they have in the array", () => {
    const [low, high] = [openLog(1), openLog(2)];
    low.log.append([fixedRecord(10), fixedRecord(11)]);
    high.log.append([fixedRecord(20), fixedRecord(21)]);
    sync(low, high);
    expect(high.changes.at(-1)).toMatchObject({ remote: true, runs: [{ position: 0 }] });
    expect(bytesOf(high.list)).toEqual(high.array.toArray());
    sync(high, low);
    expect(low.changes.at(-1)).toMatchObject({ remote: true, runs: [{ position: 2 }] });
    expect(bytesOf(low.list)).toEqual(low.array.toArray());
    expect(low.array.toArray()).toEqual(high.array.toArray());
  });

  test("[YS3] whatever is appended and delivered in whatever order, the list told equals the array", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("append" as const), at: fc.nat(2), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant("deliver" as const), at: fc.nat(2), to: fc.nat(2), update: fc.nat() }),
      fc.record({ kind: fc.constant("sync" as const), at: fc.nat(2), to: fc.nat(2) }),
    );
    let middleInserts = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const logs = [openLog(1), openLog(2), openLog(3)];
        const sent = logs.map(({ doc }) => {
          const updates: Uint8Array[] = [];
          doc.on("update", (update: Uint8Array, origin: unknown) => {
            if (origin !== "remote") updates.push(update);
          });
          return updates;
        });
        let next = 0;
        for (const step of steps) {
          const from = logs[step.at] as OpenedLog;
          if (step.kind === "append") {
            from.log.append(Array.from({ length: step.count }, () => fixedRecord(next >> 8, next++ & 0xff)));
          } else if (step.kind === "sync") {
            sync(from, logs[step.to] as OpenedLog);
          } else {
            const updates = sent[step.at] ?? [];
            const update = updates[step.update % updates.length];
            if (update !== undefined) Y.applyUpdate((logs[step.to] as OpenedLog).doc, update, "remote");
          }
          for (const { list, array, log } of logs) {
            expect(bytesOf(list)).toEqual(array.toArray());
            expect(log.recordCount).toBe(list.length);
          }
        }
        for (const from of logs) for (const to of logs) sync(from, to);
        for (const from of logs) for (const to of logs) sync(from, to);
        for (const { list, array, log, changes } of logs) {
          expect(bytesOf(list)).toEqual(logs[0]?.array.toArray());
          expect(bytesOf(list)).toEqual(array.toArray());
          expect(log.isWaiting).toBe(false);
          let length = 0;
          for (const { runs } of changes) {
            for (const { position, records } of runs) {
              if (position < length) middleInserts++;
              length += records.length;
            }
          }
        }
      }),
    );
    expect(middleInserts).toBeGreaterThan(0);
  });

  test("[YS3] an append made by another observer of the same change is placed too", () => {
    const first = openLog(1);
    let answered = false;
    const answering = new Y.Doc();
    answering.clientID = 9;
    answering.getArray("entries").observe(() => {
      if (answered) return;
      answered = true;
      answering.getArray("entries").push([Uint8Array.of(99)]);
    });
    const list: Uint8Array[] = [];
    new RecordLog(answering, ({ runs }) => {
      for (const { position, records } of runs) list.splice(position, 0, ...bytesOf(records));
    });
    first.log.append([fixedRecord(1)]);
    Y.applyUpdate(answering, Y.encodeStateAsUpdate(first.doc));
    expect(list).toEqual([Uint8Array.of(1), Uint8Array.of(99)]);
  });
});

describe("foreign documents", () => {
  test("[YS4] other content is counted, and what is appended after it is placed", () => {
    const { doc, log, list } = openLog(1);
    const stock = new Y.Doc();
    const array = stock.getArray<unknown>("entries");
    array.push(["text", 1, { object: true }]);
    array.push([Uint8Array.of(1)]);
    array.push([new Y.Map(), "last", "words"]);
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(stock));
    expect(bytesOf(list)).toEqual([Uint8Array.of(1)]);
    expect(log.foreignCount).toBe(6);
    log.append([fixedRecord(2)]);
    expect(bytesOf(list)).toEqual([Uint8Array.of(1), Uint8Array.of(2)]);
    expect(doc.getArray("entries").get(7)).toEqual(Uint8Array.of(2));
  });

  test("[YS4] a map entry, another type and an insert in the middle do no harm", () => {
    const { doc, log, list, array } = openLog(1);
    const stock = new Y.Doc();
    stock.getMap("entries").set("key", Uint8Array.of(7));
    stock.getText("other").insert(0, "words");
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(stock));
    log.append([fixedRecord(1), fixedRecord(3)]);
    array.insert(1, [Uint8Array.of(2)]);
    expect(bytesOf(list)).toEqual([Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)]);
  });

  test("[YS4] a foreign delete takes no record from a running session, and appending goes on", () => {
    const { log, list, array } = openLog(1);
    log.append([fixedRecord(1), fixedRecord(2), fixedRecord(3), fixedRecord(4)]);
    array.delete(1, 3);
    expect(log.foreignCount).toBe(3);
    log.append([fixedRecord(5)]);
    array.insert(0, [Uint8Array.of(0)]);
    expect(bytesOf(list)).toEqual([0, 1, 2, 3, 4, 5].map((byte) => Uint8Array.of(byte)));
    expect(array.toArray()).toEqual([0, 1, 5].map((byte) => Uint8Array.of(byte)));
    array.delete(0, 3);
    log.append([fixedRecord(6)]);
    expect(list.length).toBe(7);
    expect(array.toArray()).toEqual([Uint8Array.of(6)]);
  });

  test("[YS4] any other use of the array leaves every record told once", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("append" as const), at: fc.nat(1) }),
      fc.record({
        kind: fc.constant("insert" as const),
        at: fc.nat(1),
        index: fc.nat(),
        value: fc.constantFrom("a", "b", 1, true),
      }),
      fc.record({ kind: fc.constant("delete" as const), at: fc.nat(1), index: fc.nat(), length: fc.nat(3) }),
      fc.record({ kind: fc.constant("sync" as const), at: fc.nat(1) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const logs = [openLog(1), openLog(2)];
        let appended = 0;
        for (const step of steps) {
          const from = logs[step.at] as OpenedLog;
          const length = from.array.length;
          if (step.kind === "append") from.log.append([fixedRecord(appended++)]);
          if (step.kind === "insert") from.array.insert(step.index % (length + 1), [step.value]);
          if (step.kind === "delete" && length > 0) {
            const index = step.index % length;
            from.array.delete(index, Math.min(step.length, length - index));
          }
          if (step.kind === "sync") sync(from, logs[1 - step.at] as OpenedLog);
          for (const { list, array } of logs) {
            const remaining = array.toArray().filter((value) => value instanceof Uint8Array);
            const told = bytesOf(list);
            expect(told.filter((bytes) => remaining.some((other) => other[0] === bytes[0]))).toEqual(remaining);
            expect(new Set(told.map(([byte]) => byte)).size).toBe(told.length);
          }
        }
      }),
    );
  });

  test("[YS5] updates whose predecessors are missing wait visibly and are placed when those come", () => {
    const [first, second] = [openLog(1), openLog(2)];
    const updates: Uint8Array[] = [];
    first.doc.on("update", (update: Uint8Array) => updates.push(update));
    for (const byte of [1, 2, 3]) first.log.append([fixedRecord(byte)]);
    const [one, two, three] = updates as [Uint8Array, Uint8Array, Uint8Array];
    Y.applyUpdate(second.doc, three);
    Y.applyUpdate(second.doc, two);
    expect(second.log.isWaiting).toBe(true);
    expect(second.list).toEqual([]);
    Y.applyUpdate(second.doc, one);
    expect(second.log.isWaiting).toBe(false);
    expect(bytesOf(second.list)).toEqual(first.array.toArray());
  });
});

describe("origin and end", () => {
  test("[YS6] own appends are local, updates from outside remote", () => {
    const [first, second] = [openLog(1), openLog(2)];
    first.log.append([fixedRecord(1)]);
    sync(first, second);
    expect(first.changes.map(({ remote }) => remote)).toEqual([false]);
    expect(second.changes.map(({ remote }) => remote)).toEqual([true]);
  });

  test("[YS6] a closed log hears nothing more", () => {
    const { doc, log, changes } = openLog(1);
    log.close();
    log.close();
    doc.getArray("entries").push([Uint8Array.of(1)]);
    expect(changes).toEqual([]);
  });
});
