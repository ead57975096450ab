import { admitStructs, chunkStructs, orderStructs, parseUpdate, type Struct } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as Y from "yjs";
import { arbitraryClientIds, arbitraryHistory, playHistory, readRecords } from "./histories.ts";

function parseOk(bytes: Uint8Array): readonly Struct[] {
  const result = parseUpdate(bytes);
  if (!result.ok) throw new Error(result.error);
  return result.value.structs;
}

/** A struct by hand: `at(client, clock)` or `at(client, clock, originClient, originClock)`. */
function at(client: number, clock: number, originClient?: number, originClock?: number): Struct {
  const origin = originClient === undefined ? null : { client: originClient, clock: originClock ?? 0 };
  return { client, clock, origin, record: new Uint8Array(), encoded: new Uint8Array() };
}

const ids = (structs: readonly Struct[]): string[] => structs.map(({ client, clock }) => `${client}:${clock}`);
const heldFrom = (counts: Record<number, number>) => (client: number) => counts[client] ?? 0;

function admitOk(structs: readonly Struct[], counts: Record<number, number> = {}) {
  const result = admitStructs(structs, heldFrom(counts));
  if (!result.ok) throw new Error(result.error);
  const { known, accepted, isMissingSome } = result.value;
  return { known: ids(known), accepted: ids(accepted), isMissingSome };
}

test("[WI15] what the room holds is told apart from what is new", () => {
  expect(admitOk([at(5, 0), at(5, 1, 5, 0), at(5, 2, 5, 1)], { 5: 2 })).toEqual({
    known: ["5:0", "5:1"],
    accepted: ["5:2"],
    isMissingSome: false,
  });
});

test("[WI15] origins may stand in a later section, in turn between two clients", () => {
  const structs = [at(9, 0, 2, 0), at(9, 1, 2, 1), at(2, 0), at(2, 1, 9, 0), at(2, 2, 9, 1)];
  expect(admitOk(structs).accepted).toEqual(["2:0", "9:0", "2:1", "9:1", "2:2"]);
});

test("[WI16] what fits before a hole is taken, the rest and all that builds on it waits", () => {
  const structs = [at(9, 0), at(9, 2, 9, 1), at(2, 0, 9, 0), at(2, 1, 9, 2), at(2, 2, 2, 1)];
  expect(admitOk(structs)).toEqual({ known: [], accepted: ["9:0", "2:0"], isMissingSome: true });
});

test("[WI16] a section that starts beyond the room, and an origin that nobody sent, are gaps", () => {
  expect(admitOk([at(5, 3, 5, 2)], { 5: 2 })).toEqual({ known: [], accepted: [], isMissingSome: true });
  expect(admitOk([at(5, 0, 6, 0)])).toEqual({ known: [], accepted: [], isMissingSome: true });
  expect(admitOk([at(5, 0, 6, 0)], { 6: 1 })).toEqual({ known: [], accepted: ["5:0"], isMissingSome: false });
});

test("[WI17] structs that wait for each other are a cycle, however long the way round", () => {
  const cycle = (structs: Struct[], counts: Record<number, number> = {}) => admitStructs(structs, heldFrom(counts));
  const refused = { ok: false, error: "cycle" };
  expect(cycle([at(5, 0, 5, 0)])).toEqual(refused);
  expect(cycle([at(5, 0, 5, 1), at(5, 1, 5, 0)])).toEqual(refused);
  expect(cycle([at(9, 0, 5, 0), at(5, 0, 9, 0)])).toEqual(refused);
  expect(cycle([at(9, 0, 5, 1), at(5, 0), at(5, 1, 3, 0), at(3, 0, 9, 0)])).toEqual(refused);
  expect(cycle([at(9, 4, 5, 1), at(5, 1, 9, 4), at(3, 0)], { 9: 4, 5: 1 })).toEqual(refused);
});

test("[WI17] waiting for something absent is a gap even when that would close a circle", () => {
  expect(admitOk([at(9, 0, 5, 1), at(5, 0, 9, 0)])).toEqual({ known: [], accepted: [], isMissingSome: true });
});

test("[WI15] [WI16] an honest history delivered whole, in pieces or with holes is taken as far as Yjs could take it", () => {
  let gaps = 0;
  let taken = 0;
  fc.assert(
    fc.property(arbitraryHistory, arbitraryClientIds, fc.infiniteStream(fc.boolean()), (steps, clientIds, keep) => {
      const { updates } = playHistory(steps, clientIds);
      const kept = updates.filter(() => keep.next().value);
      if (kept.length === 0) return;
      const merged = Y.mergeUpdates(kept);
      const result = admitStructs(parseOk(merged), () => 0);
      if (!result.ok) throw new Error(result.error);
      const oracle = new Y.Doc();
      Y.applyUpdate(oracle, merged);
      const vector = new Map<number, number>();
      for (const { client, clock, origin } of result.value.accepted) {
        expect(clock).toBe(vector.get(client) ?? 0);
        if (origin !== null) expect(origin.clock).toBeLessThan(vector.get(origin.client) ?? 0);
        vector.set(client, clock + 1);
      }
      expect(vector).toEqual(Y.decodeStateVector(Y.encodeStateVector(oracle)));
      expect(result.value.isMissingSome).toBe(oracle.store.pendingStructs !== null);
      if (result.value.isMissingSome) gaps += 1;
      taken += result.value.accepted.length;
    }),
  );
  expect(gaps).toBeGreaterThan(0);
  expect(taken).toBeGreaterThan(0);
});

test("[WI18] ordered structs follow their origins and previous structs; what is not in the list counts as held", () => {
  const ordered = (structs: Struct[]) => {
    const result = orderStructs(structs);
    if (!result.ok) throw new Error(result.error);
    return ids(result.value);
  };
  expect(ordered([at(9, 3, 2, 7), at(9, 4, 2, 8), at(2, 7), at(2, 8, 9, 3)])).toEqual(["2:7", "9:3", "2:8", "9:4"]);
  expect(ordered([at(9, 3, 2, 6), at(2, 7)])).toEqual(["9:3", "2:7"]);
  expect(ordered([at(9, 3, 8, 100)])).toEqual(["9:3"]);
  expect(ordered([at(9, 0, 2, 5), at(2, 3), at(2, 9)])).toEqual(["2:3", "9:0", "2:9"]);
  expect(orderStructs([at(9, 0, 5, 0), at(5, 0, 9, 0)])).toEqual({ ok: false, error: "cycle" });
});

test("[WI18] [WI19] the chunks of an honest history apply one after the other with nothing pending, in any size", () => {
  let chunkCount = 0;
  fc.assert(
    fc.property(
      arbitraryHistory,
      arbitraryClientIds,
      fc.integer({ min: 1, max: 300 }),
      (steps, clientIds, maxBytes) => {
        const { merged, written } = playHistory(steps, clientIds);
        const ordered = orderStructs(parseOk(Y.encodeStateAsUpdate(merged)));
        if (!ordered.ok) throw new Error(ordered.error);
        expect(ordered.value).toHaveLength(written);
        const copy = new Y.Doc();
        for (const { update, structs } of chunkStructs(ordered.value, maxBytes)) {
          chunkCount += 1;
          if (structs.length > 1) expect(update.length).toBeLessThanOrEqual(maxBytes);
          expect(parseOk(update)).toHaveLength(structs.length);
          Y.applyUpdate(copy, update);
          expect(copy.store.pendingStructs).toBeNull();
        }
        expect(readRecords(copy)).toEqual(readRecords(merged));
      },
    ),
  );
  expect(chunkCount).toBeGreaterThan(0);
});

test("[WI15] [WI17] the largest update is placed in time that does not explode, also when it alternates or is a long chain", () => {
  const clients = 4096;
  const chain = Array.from({ length: clients }, (_, index) => at(clients - index, 0, clients - index - 1, 0));
  chain[clients - 1] = at(1, 0);
  const half = 8192;
  const turns = [
    ...Array.from({ length: half }, (_, clock) => at(2, clock, 1, clock)),
    ...Array.from({ length: half }, (_, clock) => (clock === 0 ? at(1, 0) : at(1, clock, 2, clock - 1))),
  ];
  const start = performance.now();
  expect(admitOk(chain).accepted).toHaveLength(clients);
  expect(admitOk(turns).accepted).toHaveLength(2 * half);
  expect(admitStructs([...chain.slice(0, -1), at(1, 0, clients, 0)], () => 0).ok).toBe(false);
  expect(performance.now() - start).toBeLessThan(20_000);
});
