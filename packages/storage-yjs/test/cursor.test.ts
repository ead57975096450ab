import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cursor, CursorState } from "../src/cursor.ts";
import { createCursorContext, decodeCursor, encodeCursor } from "../src/cursor.ts";
import { CursorBoard } from "../src/cursor-board.ts";
import { pureRecordCrypto } from "../src/record-crypto.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { hexToBytes, testKey } from "./helpers.ts";

interface CursorVector {
  cursor: Cursor;
  counter: number;
  clientId: number;
  plainState: CursorState;
  sealedState: CursorState;
}

const golden: { sessionId: string; workspaceKey: string; nonce: string; cursors: CursorVector[] } = JSON.parse(
  readFileSync(new URL("./golden/cursors.json", import.meta.url), "utf8"),
);
const sessionId = "session-1";
const keys = deriveRoomKeys(testKey(), sessionId);
const sealed = createCursorContext({ sessionId, keys });
const plain = createCursorContext({ sessionId });
const cursor: Cursor = { device: "device-a", replica: "r1", leafId: "e1" };

describe("cursors", () => {
  test.each(golden.cursors)("[CU1] golden cursor of $cursor.device is read and written", (vector) => {
    const goldenKeys = deriveRoomKeys(hexToBytes(golden.workspaceKey), golden.sessionId);
    const crypto = { ...pureRecordCrypto, randomBytes: () => hexToBytes(golden.nonce) };
    const sealing = createCursorContext({ sessionId: golden.sessionId, keys: goldenKeys, crypto });
    const open = createCursorContext({ sessionId: golden.sessionId });
    const { cursor, counter, clientId, plainState, sealedState } = vector;
    expect(encodeCursor(cursor, counter, clientId, sealing)).toEqual(sealedState);
    expect(encodeCursor(cursor, counter, clientId, open)).toEqual(plainState);
    expect(decodeCursor(sealedState, clientId, sealing)).toEqual({ cursor, counter });
    expect(decodeCursor(plainState, clientId, open)).toEqual({ cursor, counter: 0 });
  });

  test("[CU1] every cursor survives, plain and sealed", () => {
    const text = fc.string({ unit: "binary" });
    const anyCursor = fc.record(
      { device: text, replica: text, leafId: fc.option(text), following: text, running: fc.boolean() },
      { requiredKeys: ["device", "replica", "leafId"] },
    );
    fc.assert(
      fc.property(anyCursor, fc.maxSafeNat(), fc.maxSafeNat(), (cursor, counter, clientId) => {
        for (const context of [plain, sealed]) {
          // Through JSON, as awareness sends it.
          const state: unknown = JSON.parse(JSON.stringify(encodeCursor(cursor, counter, clientId, context)));
          expect(decodeCursor(state, clientId, context)?.cursor).toEqual(cursor);
        }
      }),
    );
  });

  test("[CU2] a sealed cursor opens only under its client id, session and key", () => {
    const state = encodeCursor(cursor, 1, 7, sealed);
    expect(decodeCursor(state, 7, sealed)).toEqual({ cursor, counter: 1 });
    expect(decodeCursor(state, 8, sealed)).toBeUndefined();
    expect(decodeCursor(state, 7, createCursorContext({ sessionId: "session-2", keys }))).toBeUndefined();
    const otherKeys = deriveRoomKeys(testKey(1), sessionId);
    expect(decodeCursor(state, 7, createCursorContext({ sessionId, keys: otherKeys }))).toBeUndefined();
    expect(decodeCursor(state, 7, plain)).toBeUndefined();
  });

  test("[CU2] a sealed room shows no plain cursor, and a sealed one says nothing to others", () => {
    expect(decodeCursor(encodeCursor(cursor, 1, 7, plain), 7, sealed)).toBeUndefined();
    const state = encodeCursor(cursor, 1, 7, sealed);
    expect(Object.keys(state)).toEqual(["v", "sealed"]);
    expect(JSON.stringify(state)).toMatch(/^\{"v":1,"sealed":"[A-Za-z0-9_-]+"\}$/);
    expect(encodeCursor(cursor, 1, 7, sealed)).not.toEqual(state);
  });

  test("[CU4] garbage gives nothing, and the cursors beside it are read", () => {
    const garbage: unknown[] = [
      null,
      undefined,
      1,
      "text",
      [],
      {},
      { v: 1 },
      { v: 2, cursor },
      { v: 1, cursor: { ...cursor, leafId: 5 } },
      { v: 1, cursor: { ...cursor, device: undefined } },
      { v: 1, sealed: 5 },
      { v: 1, sealed: "" },
      { v: 1, sealed: "%%%" },
      { v: 1, sealed: "A".repeat(100_000) },
      { user: { name: "stock client" } },
    ];
    const states = new Map<number, unknown>(garbage.map((state, index) => [index, state]));
    for (const context of [plain, sealed]) {
      states.set(1000, encodeCursor(cursor, 1, 1000, context));
      const board = new CursorBoard(context);
      expect(board.take(states.keys(), states)).toEqual({
        isChanged: true,
        useless: garbage.flatMap((state, clientId) => (state === undefined ? [] : [clientId])),
      });
      expect(board.cursors()).toEqual([cursor]);
    }
    expect(decodeCursor(encodeCursor(cursor, 1, 7, plain), Number.NaN, plain)).toBeUndefined();
  });

  test("[CU4] reading never throws, and known fields only are handed on", () => {
    fc.assert(
      fc.property(fc.anything(), fc.oneof(fc.nat(), fc.double()), (state, clientId) => {
        for (const context of [plain, sealed]) {
          decodeCursor(state, clientId, context);
          decodeCursor({ v: 1, cursor: state, sealed: state }, clientId, context);
        }
      }),
    );
    expect(decodeCursor({ v: 1, cursor: { ...cursor, extra: 1, running: "yes" } }, 7, plain)?.cursor).toEqual(cursor);
  });

  test("[CU4] something else sealed with the cursor key is no cursor", () => {
    const notACursor = encodeCursor(JSON.parse('{"device":1}') as Cursor, 1, 7, sealed);
    expect(decodeCursor(notACursor, 7, sealed)).toBeUndefined();
    expect(decodeCursor(encodeCursor(cursor, 0.5, 7, sealed), 7, sealed)).toBeUndefined();
  });
});
