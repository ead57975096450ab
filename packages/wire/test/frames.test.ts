import {
  encodeFrame,
  type Frame,
  maxAwarenessClock,
  maxAwarenessFrameBytes,
  maxDraftBytes,
  maxFrameBytes,
  parseFrame,
} from "@coppice/wire";
import fc from "fast-check";
import { createDecoder, readVarUint, readVarUint8Array } from "lib0/decoding";
import { createEncoder, toUint8Array, writeVarUint, writeVarUint8Array } from "lib0/encoding";
import { expect, test } from "vitest";
import { readAuthMessage } from "y-protocols/auth";
import { Awareness, applyAwarenessUpdate, encodeAwarenessUpdate } from "y-protocols/awareness";
import { readSyncMessage } from "y-protocols/sync";
import * as Y from "yjs";
import { bytesToHex, goldenFrames, goldenToFrame, hexToBytes } from "./golden.ts";

const counter = fc.maxSafeNat();
const bytes = fc.uint8Array({ maxLength: 300 });
const roomName = fc.string({ unit: "grapheme", maxLength: 40 });
const arbitraryFrame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    type: fc.constant("syncStep1" as const),
    stateVector: fc.array(fc.tuple(counter, counter)).map((pairs) => new Map(pairs)),
  }),
  fc.record({ type: fc.constantFrom("syncStep2" as const, "update" as const), update: bytes }),
  fc.record({
    type: fc.constant("awareness" as const),
    states: fc.array(
      fc.record({
        client: counter,
        clock: fc.nat({ max: maxAwarenessClock }),
        state: fc
          .option(fc.dictionary(fc.string(), fc.jsonValue()), { nil: null })
          .map((state) => JSON.stringify(state)),
      }),
      { maxLength: 3 },
    ),
  }),
  fc.constant({ type: "queryAwareness" as const }),
  fc.record({ type: fc.constant("permissionDenied" as const), reason: fc.string({ unit: "grapheme" }) }),
  fc.record({ type: fc.constant("ackRequest" as const), version: counter, clients: fc.array(counter) }),
  fc.record({
    type: fc.constant("ack" as const),
    pairs: fc.array(
      fc.record({
        client: counter,
        clock: counter,
        check: fc.option(fc.uint8Array({ minLength: 8, maxLength: 8 }), { nil: null }).map((check) => {
          return check?.some((byte) => byte !== 0) ? check : null;
        }),
      }),
    ),
  }),
  fc.record({ type: fc.constant("refused" as const), code: counter, reason: fc.string({ unit: "grapheme" }) }),
  fc.record({ type: fc.constant("digest" as const), digest: fc.uint8Array({ minLength: 8, maxLength: 8 }) }),
  fc.record({ type: fc.constant("draft" as const), sealed: bytes }),
  fc.record({ type: fc.constant("deleteRoom" as const), secret: fc.uint8Array({ minLength: 32, maxLength: 32 }) }),
  fc.record({ type: fc.constant("headsRequest" as const), rooms: fc.array(roomName) }),
  fc.record({
    type: fc.constant("heads" as const),
    heads: fc.array(
      fc.oneof(
        fc.record({ room: roomName, state: fc.constantFrom("unknown" as const, "deleted" as const) }),
        fc.record({
          room: roomName,
          state: fc.constant("present" as const),
          digest: fc.uint8Array({ minLength: 8, maxLength: 8 }),
          records: counter,
          bytes: counter,
          updatedAtMs: counter,
        }),
      ),
    ),
  }),
  fc.record({
    type: fc.constant("unknownExtension" as const),
    subType: fc.integer({ min: 8, max: 1000 }),
    payload: bytes,
  }),
);

for (const golden of goldenFrames.accepted) {
  test(`[WI1] [WI5] the golden frame "${golden.name}" is read and written byte for byte`, () => {
    const frame = goldenToFrame(golden);
    expect(parseFrame(hexToBytes(golden.hex))).toEqual({ ok: true, value: frame });
    expect(bytesToHex(encodeFrame(frame))).toBe(golden.hex);
  });
}

for (const { name, hex, error } of goldenFrames.refused) {
  test(`[WI1] [WI2] [WI4] ${name} is no frame: ${error}`, () => {
    expect(parseFrame(hexToBytes(hex))).toEqual({ ok: false, error });
  });
}

test("[WI1] every frame that is written is read back equal", () => {
  fc.assert(
    fc.property(arbitraryFrame, (frame) => {
      expect(parseFrame(encodeFrame(frame))).toEqual({ ok: true, value: frame });
    }),
  );
});

test("[WI1] a frame cut anywhere or followed by a byte is an error", () => {
  const closed = arbitraryFrame.filter((frame) => frame.type !== "unknownExtension");
  fc.assert(
    fc.property(closed, fc.nat(), (frame, cut) => {
      const whole = encodeFrame(frame);
      expect(parseFrame(whole.subarray(0, cut % whole.length)).ok).toBe(false);
      expect(parseFrame(new Uint8Array([...whole, 0])).ok).toBe(false);
    }),
  );
});

test("[WI1] random bytes never throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
      const result = parseFrame(input);
      if (result.ok) expect(encodeFrame(result.value).length).toBeLessThanOrEqual(input.length);
    }),
    { numRuns: 5000 },
  );
});

test("[WI1] a frame never shows bytes behind its own end", () => {
  const pool = new Uint8Array(64).fill(0xee);
  pool.set([0, 2, 20, 1, 2, 3]);
  expect(parseFrame(pool.subarray(0, 6))).toEqual({ ok: false, error: "malformed" });
});

test("[WI3] a frame of exactly the limit is read, one byte more is too big", () => {
  const overhead =
    encodeFrame({ type: "update", update: new Uint8Array(maxFrameBytes - 10) }).length - maxFrameBytes + 10;
  const frame = encodeFrame({ type: "update", update: new Uint8Array(maxFrameBytes - overhead) });
  expect(frame.length).toBe(maxFrameBytes);
  expect(parseFrame(frame).ok).toBe(true);
  expect(parseFrame(new Uint8Array(maxFrameBytes + 1))).toEqual({ ok: false, error: "too_big" });
});

test("[WI3] an awareness frame above its own limit is named as such", () => {
  const state = JSON.stringify({ text: "x".repeat(maxAwarenessFrameBytes) });
  const frame = encodeFrame({ type: "awareness", states: [{ client: 1, clock: 1, state }] });
  expect(parseFrame(frame)).toEqual({ ok: false, error: "awareness_too_big" });
});

test("[WI3] a draft of exactly its limit is read, one byte more is named as such", () => {
  const draft = (bytes: number) => parseFrame(encodeFrame({ type: "draft", sealed: new Uint8Array(bytes) }));
  expect(draft(maxDraftBytes).ok).toBe(true);
  expect(draft(maxDraftBytes + 1)).toEqual({ ok: false, error: "draft_too_big" });
});

test("[WI1] a digest or secret of another length is not written", () => {
  const head = { room: "a", state: "present", records: 1, bytes: 1, updatedAtMs: 1 } as const;
  expect(() => encodeFrame({ type: "heads", heads: [{ ...head, digest: new Uint8Array(9) }] })).toThrow(RangeError);
  expect(() => encodeFrame({ type: "digest", digest: new Uint8Array(7) })).toThrow(RangeError);
  expect(() => encodeFrame({ type: "deleteRoom", secret: new Uint8Array(33) })).toThrow(RangeError);
});

test("[WI4] a cursor nested deeper than 64 is refused, brackets in strings do not count", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const parse = (state: string) =>
    parseFrame(encodeFrame({ type: "awareness", states: [{ client: 1, clock: 1, state }] })).ok;
  expect(parse(nested(64))).toBe(true);
  expect(parse(nested(65))).toBe(false);
  expect(parse(JSON.stringify({ text: `\\"${"[{".repeat(100)}` }))).toBe(true);
});

test("[WI1] mutated frames of our own never throw, and what is read is written back as it was", () => {
  const own = arbitraryFrame.filter(({ type }) =>
    ["digest", "draft", "deleteRoom", "ack", "ackRequest", "headsRequest", "heads"].includes(type),
  );
  fc.assert(
    fc.property(own, fc.nat(), fc.nat({ max: 255 }), (frame, at, byte) => {
      const mutated = encodeFrame(frame);
      mutated[at % mutated.length] = byte;
      const result = parseFrame(mutated);
      if (result.ok) expect(encodeFrame(result.value)).toEqual(mutated);
    }),
    { numRuns: 2000 },
  );
});

test("[WI6] a sub type of a later version is given as it came", () => {
  expect(parseFrame(new Uint8Array([67, 9, 1, 2, 3]))).toEqual({
    ok: true,
    value: { type: "unknownExtension", subType: 9, payload: new Uint8Array([1, 2, 3]) },
  });
});

test("[WI5] stock y-protocols reads the sync frames that are written here", () => {
  const source = new Y.Doc();
  source.getArray("entries").push([new Uint8Array([1, 2, 3])]);
  const reader = new Y.Doc();
  const decoder = createDecoder(encodeFrame({ type: "update", update: Y.encodeStateAsUpdate(source) }));
  expect(readVarUint(decoder)).toBe(0);
  readSyncMessage(decoder, createEncoder(), reader, "test");
  expect(reader.getArray("entries").toJSON()).toEqual([new Uint8Array([1, 2, 3])]);

  const step1 = createDecoder(encodeFrame({ type: "syncStep1", stateVector: new Map([[7, 3]]) }));
  expect(readVarUint(step1)).toBe(0);
  const reply = createEncoder();
  writeVarUint(reply, 0);
  readSyncMessage(step1, reply, source, "test");
  const answer = parseFrame(toUint8Array(reply));
  expect(answer).toEqual({ ok: true, value: { type: "syncStep2", update: Y.encodeStateAsUpdate(source) } });
});

test("[WI5] stock y-protocols and this package read each other's cursors and refusals", () => {
  const doc = new Y.Doc();
  const writer = new Awareness(doc);
  writer.setLocalState({ leaf: "αβγ", at: [1, { b: null }] });
  const encoder = createEncoder();
  writeVarUint(encoder, 1);
  writeVarUint8Array(encoder, encodeAwarenessUpdate(writer, [doc.clientID]));
  const parsed = parseFrame(toUint8Array(encoder));
  if (!parsed.ok) throw new Error(parsed.error);
  const reader = new Awareness(new Y.Doc());
  const decoder = createDecoder(encodeFrame(parsed.value));
  expect(readVarUint(decoder)).toBe(1);
  applyAwarenessUpdate(reader, readVarUint8Array(decoder), "test");
  expect(reader.getStates().get(doc.clientID)).toEqual({ leaf: "αβγ", at: [1, { b: null }] });
  writer.destroy();
  reader.destroy();

  const denied = createDecoder(encodeFrame({ type: "permissionDenied", reason: "read-only" }));
  expect(readVarUint(denied)).toBe(2);
  let reason = "";
  readAuthMessage(denied, doc, (_doc, given) => {
    reason = given;
  });
  expect(reason).toBe("read-only");
});
