import { type Encoder, encode, writeUint8, writeVarString, writeVarUint, writeVarUint8Array } from "lib0/encoding";
import * as Y from "yjs";

/** What a hostile update does to the connection that sends it. */
export interface HostileUpdate {
  readonly name: string;
  /** Sent in this order over one connection. */
  readonly updates: readonly Uint8Array[];
  /** Whether the connection is closed with a final code. Otherwise it stays open and nothing is kept. */
  readonly isOffence: boolean;
}

const root = "entries";
const record = Uint8Array.of(7);
/** The largest number of the encoding. */
const huge = Number.MAX_SAFE_INTEGER;

/**
 * Updates that a relay must never keep, against a room that was written by one honest client. Some are made by Yjs
 * itself: they are what it takes and we do not.
 */
export function createHostileUpdates(honest: Y.Doc): HostileUpdate[] {
  const [honestClient] = honest.store.clients.keys();
  if (honestClient === undefined) throw new Error("the honest client has written nothing");
  const clock = Y.getState(honest.store, honestClient);
  return [
    offence(
      "deletes every record",
      byYjs(honest, (doc) => doc.getArray(root).delete(0, doc.getArray(root).length)),
    ),
    offence(
      "deletes a range of 2^53",
      encode((out) => writeUpdateEnd(out, 0, [[honestClient, 0, huge]])),
    ),
    offence(
      "inserts at the beginning",
      byYjs(honest, (doc) => doc.getArray(root).insert(0, [record])),
    ),
    offence(
      "inserts in the middle",
      byYjs(honest, (doc) => doc.getArray(root).insert(5, [record])),
    ),
    offence(
      "another root",
      byYjs(honest, (doc) => doc.getArray("other").push([record])),
    ),
    offence(
      "text",
      byYjs(honest, (doc) => doc.getText("text").insert(0, "hello")),
    ),
    offence(
      "map keys",
      byYjs(honest, (doc) => doc.getMap("map").set("key", record)),
    ),
    offence(
      "map keys of the entries",
      byYjs(honest, (doc) => doc.getMap(root).set("key", record)),
    ),
    offence(
      "objects",
      byYjs(honest, (doc) => doc.getArray(root).push([{ a: 1 }])),
    ),
    offence(
      "strings and numbers",
      byYjs(honest, (doc) => doc.getArray(root).push(["a", 1, null])),
    ),
    offence(
      "nested types",
      byYjs(honest, (doc) => doc.getArray(root).push([new Y.Array()])),
    ),
    offence(
      "a sub-document",
      byYjs(honest, (doc) => doc.getArray(root).push([new Y.Doc({ guid: "inner" })])),
    ),
    offence("GC structs that Yjs left", leaveGarbage(honest)),
    offence(
      "a GC struct of 2^53",
      oneSection(
        66,
        0,
        1,
        (out) => writeUint8(out, 0),
        (out) => writeVarUint(out, huge),
      ),
    ),
    offence(
      "deleted content",
      oneSection(
        66,
        0,
        1,
        (out) => writeUint8(out, 0x81),
        (out) => writeId(out, honestClient, 0),
        (out) => writeVarUint(out, 5),
      ),
    ),
    offence(
      "waits for itself",
      oneSection(66, 0, 1, (out) => writeItem(out, [66, 0])),
    ),
    offence(
      "waits for a later one of its own",
      oneSection(
        66,
        0,
        2,
        (out) => writeItem(out, [66, 1]),
        (out) => writeItem(out),
      ),
    ),
    offence(
      "two that wait for each other",
      sections([
        [67, 0, [[66, 0]]],
        [66, 0, [[67, 0]]],
      ]),
    ),
    offence("a ring of 4,000", ring(4_000)),
    offence(
      "one client in two sections",
      sections([
        [66, 0, [null]],
        [66, 1, [[66, 0]]],
      ]),
    ),
    offence(
      "sections in the wrong order",
      sections([
        [66, 0, [null]],
        [67, 0, [null]],
      ]),
    ),
    offence("an empty section", sections([[66, 0, []]])),
    offence(
      "a million tiny records",
      oneSection(66, 0, 1_000_000, (out) => writeMany(out, 1_000_000)),
    ),
    offence("20,000 clients", sections(Array.from({ length: 20_000 }, (_, at) => [30_000 - at, 0, [null]]))),
    offence(
      "2^53 sections",
      encode((out) => writeVarUint(out, huge)),
    ),
    offence(
      "2^53 records",
      oneSection(66, 0, huge, (out) => writeItem(out)),
    ),
    offence(
      "a record of 2^53 bytes",
      oneSection(
        66,
        0,
        1,
        (out) => writeRootInfo(out),
        (out) => writeVarUint(out, huge),
      ),
    ),
    offence(
      "a record of 9 MiB",
      oneSection(
        66,
        0,
        1,
        (out) => writeRootInfo(out),
        (out) => writeVarUint8Array(out, new Uint8Array(9 << 20)),
      ),
    ),
    offence(
      "a skip beyond 2^53",
      oneSection(
        66,
        1,
        2,
        (out) => writeSkip(out, huge),
        (out) => writeItem(out),
      ),
    ),
    offence("other content for the first record", sections([[honestClient, 0, [null]]])),
    offence("other content for all records", encodeOthersAs(honestClient, clock)),
    offence("a byte behind the end", Uint8Array.of(0, 0, 0)),
    offence("cut in the middle", Y.encodeStateAsUpdate(honest).subarray(0, 40)),
    offence("Yjs's second format", Y.encodeStateAsUpdateV2(honest)),
    harmless("nothing", Uint8Array.of(0, 0)),
    harmless(
      "a skip alone",
      oneSection(66, 0, 1, (out) => writeSkip(out, 1_000)),
    ),
    harmless("a gap of a million", sections([[66, 1_000_000, [[66, 999_999]]]])),
    harmless("a gap behind the honest client", sections([[honestClient, clock + 10, [[honestClient, clock + 9]]]])),
    harmless("a clock near 2^53", sections([[66, huge - 1, [[66, huge - 2]]]])),
    harmless("an origin that never comes", sections([[66, 0, [[4_242, 7]]]])),
    harmless("a client id of 2^53 with an origin that never comes", sections([[huge, 0, [[4_242, 7]]]])),
    {
      name: "2,000 updates of orphans",
      isOffence: false,
      updates: Array.from({ length: 2_000 }, (_, at) => sections([[70_000 + at, 0, [[90_000 + at, at]]]])),
    },
    {
      name: "20 updates of 16,000 orphans",
      isOffence: false,
      updates: Array.from({ length: 20 }, (_, at) =>
        oneSection(80_000 + at, 1, 16_000, (out) => writeMany(out, 16_000, [80_000 + at, 0])),
      ),
    },
  ];
}

const offence = (name: string, update: Uint8Array): HostileUpdate => ({ name, updates: [update], isOffence: true });
const harmless = (name: string, update: Uint8Array): HostileUpdate => ({ name, updates: [update], isOffence: false });

/** What Yjs sends when a client with this document does something. */
function byYjs(honest: Y.Doc, act: (doc: Y.Doc) => void): Uint8Array {
  const doc = new Y.Doc();
  doc.clientID = 66;
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(honest));
  const before = Y.encodeStateVector(doc);
  act(doc);
  return Y.encodeStateAsUpdate(doc, before);
}

function leaveGarbage(honest: Y.Doc): Uint8Array {
  return byYjs(honest, (doc) => {
    const nested = new Y.Array<number>();
    doc.getArray(root).push([nested]);
    nested.push([1, 2, 3]);
    doc.getArray(root).delete(doc.getArray(root).length - 1);
  });
}

type Origin = readonly [client: number, clock: number];
type Section = readonly [client: number, clock: number, origins: readonly (Origin | null)[]];

/** An update of small records, one for each origin; null stands at the beginning of the list. */
function sections(all: readonly Section[]): Uint8Array {
  return encode((out) => {
    writeVarUint(out, all.length);
    for (const [client, clock, origins] of all) {
      writeVarUint(out, origins.length);
      writeVarUint(out, client);
      writeVarUint(out, clock);
      for (const origin of origins) writeItem(out, origin ?? undefined);
    }
    writeVarUint(out, 0);
  });
}

function oneSection(client: number, clock: number, count: number, ...parts: ((out: Encoder) => void)[]): Uint8Array {
  return encode((out) => {
    writeVarUint(out, 1);
    writeVarUint(out, count);
    writeVarUint(out, client);
    writeVarUint(out, clock);
    for (const write of parts) write(out);
    writeVarUint(out, 0);
  });
}

function ring(length: number): Uint8Array {
  return sections(Array.from({ length }, (_, at) => [100_000 - at, 0, [[100_000 - ((at + 1) % length), 0]]]));
}

function encodeOthersAs(client: number, count: number): Uint8Array {
  const doc = new Y.Doc();
  doc.clientID = client;
  for (let at = 0; at < count; at += 1) doc.getArray(root).push([Uint8Array.of(66, at)]);
  return Y.encodeStateAsUpdate(doc);
}

function writeMany(out: Encoder, count: number, origin?: Origin): void {
  for (let at = 0; at < count; at += 1) writeItem(out, origin);
}

/** A record of one byte behind its origin, or at the beginning of the list. */
function writeItem(out: Encoder, origin?: Origin): void {
  if (origin === undefined) writeRootInfo(out);
  else {
    writeUint8(out, 0x83);
    writeId(out, ...origin);
  }
  writeVarUint8Array(out, record);
}

function writeRootInfo(out: Encoder): void {
  writeUint8(out, 0x03);
  writeVarUint(out, 1);
  writeVarString(out, root);
}

function writeId(out: Encoder, client: number, clock: number): void {
  writeVarUint(out, client);
  writeVarUint(out, clock);
}

function writeSkip(out: Encoder, length: number): void {
  writeUint8(out, 0x0a);
  writeVarUint(out, length);
}

/** No structs, and a delete set. */
function writeUpdateEnd(
  out: Encoder,
  sectionCount: number,
  deletes: readonly (readonly [number, number, number])[],
): void {
  writeVarUint(out, sectionCount);
  writeVarUint(out, deletes.length);
  for (const [client, clock, length] of deletes) {
    writeVarUint(out, client);
    writeVarUint(out, 1);
    writeVarUint(out, clock);
    writeVarUint(out, length);
  }
}
