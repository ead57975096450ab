import { describe, expect, test } from "vitest";
import { type Cursor, type CursorState, createCursorContext, encodeCursor } from "../src/cursor.ts";
import { CursorBoard, findFollowedCursor } from "../src/cursor-board.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { testKey } from "./helpers.ts";

const sessionId = "session-1";
const sealed = createCursorContext({ sessionId, keys: deriveRoomKeys(testKey(), sessionId) });
const plain = createCursorContext({ sessionId });
const at = (leafId: string, rest: Partial<Cursor> = {}): Cursor => ({
  device: "laptop",
  replica: "r1",
  leafId,
  ...rest,
});

/** A board, and a way to say what awareness has under a client id now; null: nothing. */
function openBoard(context = sealed) {
  const board = new CursorBoard(context);
  const states = new Map<number, unknown>();
  const say = (clientId: number, state: unknown) => {
    if (state === null) states.delete(clientId);
    else states.set(clientId, state);
    return board.take([clientId], states);
  };
  const show = (clientId: number, cursor: Cursor, counter: number) =>
    say(clientId, encodeCursor(cursor, counter, clientId, context));
  return { board, say, show };
}

describe("CursorBoard", () => {
  test("[CU3] an older state sent again neither moves nor hides the cursor; the same one changes nothing", () => {
    const { board, say, show } = openBoard();
    const older: CursorState = encodeCursor(at("e1"), 1, 7, sealed);
    say(7, older);
    show(7, at("e2"), 2);
    expect(say(7, older)).toEqual({ isChanged: false, useless: [] });
    expect(board.cursors()).toEqual([at("e2")]);
    expect(show(7, at("e2"), 2).isChanged).toBe(false);
    expect(show(7, at("e3"), 3).isChanged).toBe(true);
    expect(board.cursors()).toEqual([at("e3")]);
  });

  test("[CU3] after its client id has left an older state shows nothing, the last one does", () => {
    const { board, say, show } = openBoard();
    const older = encodeCursor(at("e1"), 1, 7, sealed);
    const last = encodeCursor(at("e2"), 2, 7, sealed);
    say(7, last);
    expect(say(7, null).isChanged).toBe(true);
    expect(board.cursors()).toEqual([]);
    expect(say(7, older)).toEqual({ isChanged: false, useless: [7] });
    expect(board.cursors()).toEqual([]);
    // Whoever was cut off for a moment shows the same state again.
    say(7, last);
    expect(board.cursors()).toEqual([at("e2")]);
    expect(show(7, at("e1"), 3).isChanged).toBe(true);
  });

  test("[CU3] a process that starts anew counts from 1 under a client id of its own and is seen", () => {
    const { board, show } = openBoard();
    show(7, at("e1"), 900);
    show(8, at("e2", { replica: "r2" }), 1);
    expect(board.cursors().map(({ leafId }) => leafId)).toEqual(["e1", "e2"]);
  });

  test("[CU5] F71: a replica shows once, also while the state of its former client id is still there", () => {
    const { board, say, show } = openBoard();
    show(7, at("e1"), 1);
    show(8, at("e2"), 2);
    expect(board.cursors()).toEqual([at("e2")]);
    // A heartbeat of the former one, in whatever order.
    show(7, at("e1"), 1);
    expect(board.cursors()).toEqual([at("e2")]);
    say(7, null);
    expect(board.cursors()).toEqual([at("e2")]);
  });

  test("[CU6] F78: garbage under the id of a replica that shows itself leaves its cursor alone", () => {
    const { board, say, show } = openBoard();
    show(7, at("e1"), 1);
    for (const state of [{}, { v: 1, sealed: "AAAA" }, { v: 2 }, encodeCursor(at("e9"), 9, 8, sealed)])
      expect(say(7, state)).toEqual({ isChanged: false, useless: [] });
    expect(board.cursors()).toEqual([at("e1")]);
  });

  test("[CU4] F73: a cursor goes with its state", () => {
    const { board, say, show } = openBoard();
    show(7, at("e1"), 1);
    expect(say(7, null)).toEqual({ isChanged: true, useless: [] });
    expect(say(7, null)).toEqual({ isChanged: false, useless: [] });
    show(7, at("e1"), 2);
    board.clear();
    expect(board.cursors()).toEqual([]);
  });

  test("[CU7] of 20,000 forged cursors none is kept in a sealed room, and few where nothing is sealed", () => {
    const forged = new Map<number, unknown>();
    for (let id = 1; id <= 20_000; id++)
      forged.set(id, { v: 1, cursor: at("e1", { replica: `r${id}` }), sealed: "A".repeat(120) });
    const strict = new CursorBoard(sealed);
    expect(strict.take(forged.keys(), forged)).toMatchObject({ isChanged: false, useless: [...forged.keys()] });
    expect(strict.cursors()).toEqual([]);
    const open = new CursorBoard(plain);
    const { useless } = open.take(forged.keys(), forged);
    expect(open.cursors()).toHaveLength(1_024);
    expect(useless).toHaveLength(20_000 - 1_024);
    // They go, and others are seen again.
    open.take(forged.keys(), new Map());
    const states = new Map([[1, encodeCursor(at("e2"), 1, 1, plain)]]);
    open.take([1], states);
    expect(open.cursors()).toEqual([at("e2")]);
  });

  test("[CU7] the counters of replicas that come and go are bounded, those of replicas that stay are kept", () => {
    const { board, say, show } = openBoard();
    show(1, at("e1", { replica: "stays" }), 2);
    for (let id = 10; id < 4_200; id++) {
      show(id, at("e", { replica: `r${id}` }), 2);
      say(id, null);
    }
    for (const id of [1, 4_199]) expect(show(id, at("old"), 1).isChanged).toBe(false);
    expect(show(10, at("old"), 1).isChanged).toBe(true);
    expect(board.cursors()).toHaveLength(2);
  });
});

describe("findFollowedCursor", () => {
  const of = (device: string, rest: Partial<Cursor> = {}): Cursor => ({
    device,
    replica: `${device}-1`,
    leafId: device,
    ...rest,
  });

  test.each<[string, Cursor[], string | null | undefined]>([
    ["shows nothing", [of("desk")], undefined],
    ["shows one cursor", [of("phone"), of("desk")], "phone"],
    ["has moved two", [of("phone", { leafId: "first" }), of("phone", { replica: "p2", leafId: "last" })], "last"],
    [
      "runs an agent at one",
      [of("phone", { leafId: "agent", running: true }), of("phone", { replica: "p2", leafId: "last" })],
      "agent",
    ],
    ["follows another", [of("phone", { following: "desk" }), of("desk")], "desk"],
    ["follows one who is away", [of("phone", { following: "desk" })], "phone"],
    ["follows one who follows it", [of("phone", { following: "desk" }), of("desk", { following: "phone" })], "desk"],
    ["stands before the first entry", [of("phone", { leafId: null })], null],
  ])("[CU8] the device followed %s", (_case, cursors, leafId) => {
    expect(findFollowedCursor("phone", cursors)?.leafId).toBe(leafId);
  });
});
