import { encodeUpdate, maxRecordBytes, maxStructsPerUpdate, parseUpdate, type Struct } from "@coppice/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { bytesToHex, goldenUpdates, hexToBytes, structToGolden } from "./golden.ts";
import { arbitraryClientIds, arbitraryHistory, playHistory, readRecords } from "./histories.ts";

/** No measurement: it only tells an endless loop, or work that grows with a promised count, from a busy machine. */
const maxParseMs = 5_000;

function parseTimed(bytes: Uint8Array): ReturnType<typeof parseUpdate> {
  const start = performance.now();
  const result = parseUpdate(bytes);
  expect(performance.now() - start).toBeLessThan(maxParseMs);
  return result;
}

function parseOk(bytes: Uint8Array): readonly Struct[] {
  const result = parseUpdate(bytes);
  if (!result.ok) throw new Error(result.error);
  return result.value.structs;
}

describe("golden updates", () => {
  for (const { name, hex, hasSkip, structs } of goldenUpdates.accepted) {
    test(`[WI8] [WI11] ${name}: read, and written again byte for byte`, () => {
      const result = parseUpdate(hexToBytes(hex));
      if (!result.ok) throw new Error(result.error);
      expect(result.value.structs.map(structToGolden)).toEqual(structs);
      expect(result.value.hasSkip).toBe(hasSkip);
      expect(bytesToHex(encodeUpdate(result.value.structs))).toBe(hex);
    });

    test(`[WI13] ${name}: stock Yjs reads the same records from it`, () => {
      const seen: Array<{ client: number; clock: number; record: string }> = [];
      for (const struct of Y.decodeUpdate(hexToBytes(hex)).structs) {
        if (!(struct instanceof Y.Item)) continue;
        const record = bytesToHex(struct.content.getContent()[0] as Uint8Array);
        seen.push({ client: struct.id.client, clock: struct.id.clock, record });
      }
      expect(seen).toEqual(structs.map(({ client, clock, record }) => ({ client, clock, record })));
    });
  }

  for (const { name, hex, offence } of goldenUpdates.refused) {
    test(`[WI9] [WI10] [WI12] ${name} is refused: ${offence}`, () => {
      expect(parseUpdate(hexToBytes(hex))).toEqual({ ok: false, error: offence });
    });
  }
});

test("[WI13] whatever honest devices write is accepted, live and as a whole, and comes back byte for byte", () => {
  let structCount = 0;
  fc.assert(
    fc.property(arbitraryHistory, arbitraryClientIds, (steps, clientIds) => {
      const { updates, merged, written } = playHistory(steps, clientIds);
      for (const update of updates) expect(encodeUpdate(parseOk(update))).toEqual(update);
      const whole = Y.encodeStateAsUpdate(merged);
      const structs = parseOk(whole);
      expect(structs).toHaveLength(written);
      expect(encodeUpdate(structs)).toEqual(whole);
      structCount += structs.length;
      const copy = new Y.Doc();
      Y.applyUpdate(copy, encodeUpdate(structs));
      expect(readRecords(copy)).toEqual(readRecords(merged));
    }),
  );
  expect(structCount).toBeGreaterThan(0);
});

test("[WI11] updates that stock Yjs merged with holes are accepted, and the holes are kept when written", () => {
  let skips = 0;
  fc.assert(
    fc.property(arbitraryHistory, arbitraryClientIds, fc.infiniteStream(fc.boolean()), (steps, clientIds, keep) => {
      const { updates } = playHistory(steps, clientIds);
      const kept = updates.filter(() => keep.next().value);
      if (kept.length === 0) return;
      const merged = Y.mergeUpdates(kept);
      const result = parseUpdate(merged);
      if (!result.ok) throw new Error(result.error);
      expect(result.value.structs).toHaveLength(kept.length);
      expect(encodeUpdate(result.value.structs)).toEqual(merged);
      if (result.value.hasSkip) skips += 1;
    }),
  );
  expect(skips).toBeGreaterThan(0);
});

test("[WI14] random bytes never throw and never take long (F42, F45)", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      parseTimed(bytes);
    }),
    { numRuns: 5000 },
  );
});

test("[WI14] valid updates with flipped bits or a cut end never throw, never take long, and only pass when they are another valid update (F42)", () => {
  let refused = 0;
  fc.assert(
    fc.property(
      arbitraryHistory,
      arbitraryClientIds,
      fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (steps, clientIds, flips, isCut) => {
        const { merged } = playHistory(steps, clientIds);
        const bytes = Y.encodeStateAsUpdate(merged);
        for (const flip of flips) {
          const at = flip % bytes.length;
          bytes[at] = (bytes[at] as number) ^ (1 << (flip % 8));
        }
        const input = isCut ? bytes.subarray(0, (flips[0] as number) % bytes.length) : bytes;
        const result = parseTimed(input);
        if (result.ok) expect(encodeUpdate(result.value.structs).length).toBeLessThanOrEqual(input.length);
        else refused += 1;
      },
    ),
    { numRuns: 1000 },
  );
  expect(refused).toBeGreaterThan(0);
});

test("[WI14] an update that promises 2^53 structs or sections is refused at once", () => {
  const huge = "ffffffffffffff0f";
  expect(parseTimed(hexToBytes(`${huge}00`))).toEqual({ ok: false, error: "too_many_clients" });
  expect(parseTimed(hexToBytes(`01${huge}0500`))).toEqual({ ok: false, error: "too_many_structs" });
  expect(parseTimed(hexToBytes("01010500030107656e7472696573ffffffffffffff0f"))).toEqual({
    ok: false,
    error: "record_too_big",
  });
});

test("[WI12] the largest update allowed is accepted, one struct more is not; the same for the record", () => {
  const doc = new Y.Doc();
  const push = (bytes: Uint8Array) => doc.getArray("entries").push([bytes]);
  doc.transact(() => {
    for (let i = 0; i < maxStructsPerUpdate; i += 1) push(new Uint8Array([i % 256]));
  });
  expect(parseTimed(Y.encodeStateAsUpdate(doc)).ok).toBe(true);
  push(new Uint8Array([1]));
  expect(parseTimed(Y.encodeStateAsUpdate(doc))).toEqual({ ok: false, error: "too_many_structs" });

  const recordUpdate = (length: number) => {
    const other = new Y.Doc();
    other.getArray("entries").push([new Uint8Array(length)]);
    return Y.encodeStateAsUpdate(other);
  };
  expect(parseTimed(recordUpdate(maxRecordBytes)).ok).toBe(true);
  expect(parseTimed(recordUpdate(maxRecordBytes + 1))).toEqual({ ok: false, error: "record_too_big" });
});

test("[WI12] smaller limits can be given", () => {
  const { hex } = goldenUpdates.accepted.find(({ structs }) => structs.length === 3) as { hex: string };
  const limits = { maxStructs: 3, maxClients: 1, maxRecordBytes: 1 };
  const bytes = hexToBytes(hex);
  expect(parseUpdate(bytes, limits).ok).toBe(true);
  expect(parseUpdate(bytes, { ...limits, maxStructs: 2 })).toEqual({ ok: false, error: "too_many_structs" });
  expect(parseUpdate(bytes, { ...limits, maxClients: 0 })).toEqual({ ok: false, error: "too_many_clients" });
  expect(parseUpdate(bytes, { ...limits, maxRecordBytes: 0 })).toEqual({ ok: false, error: "record_too_big" });
});
