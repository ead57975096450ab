import { createHash, hkdfSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { RoomKeys } from "../src/room-keys.ts";
import {
  createRoomKeys,
  deriveCursorKey,
  deriveDeletionSecret,
  deriveRecordKey,
  deriveRoomKeys,
  deriveWorkspaceRoom,
} from "../src/room-keys.ts";
import { bytesToHex, hexToBytes, testKey } from "./helpers.ts";

interface KeyVector {
  roomId: string;
  roomKey: string;
  keyId: string;
  recordKey: string;
  cursorKey: string;
}

interface RoomVector extends KeyVector {
  sessionId: string;
  deletionSecret: string;
}

const golden: { workspaceKey: string; workspaceRoom: KeyVector; rooms: RoomVector[] } = JSON.parse(
  readFileSync(new URL("./golden/keys.json", import.meta.url), "utf8"),
);

function toVector(keys: RoomKeys): KeyVector {
  return {
    roomId: keys.roomId,
    roomKey: bytesToHex(keys.roomKey),
    keyId: bytesToHex(keys.keyId),
    recordKey: bytesToHex(deriveRecordKey(keys.roomKey)),
    cursorKey: bytesToHex(deriveCursorKey(keys.roomKey)),
  };
}

/** HKDF as another implementation does it. */
function hkdf(key: string, info: string, length: number): string {
  return bytesToHex(new Uint8Array(hkdfSync("sha256", hexToBytes(key), new Uint8Array(0), info, length)));
}

describe("room keys", () => {
  test("[RC1] keys of the golden file are derived again, for every session id", () => {
    const workspaceKey = hexToBytes(golden.workspaceKey);
    expect(golden.rooms.length).toBeGreaterThan(3);
    for (const { sessionId, deletionSecret, ...vector } of golden.rooms) {
      expect(bytesToHex(deriveDeletionSecret(workspaceKey, sessionId))).toBe(deletionSecret);
      expect(toVector(deriveRoomKeys(workspaceKey, sessionId))).toEqual(vector);
    }
    expect(toVector(deriveWorkspaceRoom(workspaceKey))).toEqual(golden.workspaceRoom);
  });

  test("[RC1] the derivation is plain HKDF-SHA256 with the info strings of the SPEC", () => {
    const [room] = golden.rooms;
    if (room === undefined) throw new Error("the golden file holds no room");
    expect(room.deletionSecret).toBe(hkdf(golden.workspaceKey, `coppice v1 room deletion\0${room.sessionId}`, 32));
    expect(room.roomKey).toBe(hkdf(golden.workspaceKey, `coppice v1 room key\0${room.sessionId}`, 32));
    expect(golden.workspaceRoom.roomId).toBe(hkdf(golden.workspaceKey, "coppice v1 workspace room id\0", 16));
    expect(golden.workspaceRoom.roomKey).toBe(hkdf(golden.workspaceKey, "coppice v1 workspace room key\0", 32));
    expect(room.keyId).toBe(hkdf(room.roomKey, "coppice v1 key id\0", 4));
    expect(room.recordKey).toBe(hkdf(room.roomKey, "coppice v1 record key\0", 32));
    expect(room.cursorKey).toBe(hkdf(room.roomKey, "coppice v1 cursor key\0", 32));
  });

  test("[RC15] a room id is the hash of the secret that deletes the room, so a relay can check it by itself", () => {
    for (const { roomId, deletionSecret } of golden.rooms) {
      const hash = createHash("sha256").update("coppice v1 room id\0").update(deletionSecret, "hex").digest("hex");
      expect(roomId).toBe(hash.slice(0, 32));
    }
    expect(() => deriveDeletionSecret(new Uint8Array(31), "a")).toThrow(RangeError);
  });

  test("[RC1] another session, another workspace and the workspace's own room share nothing", () => {
    const rooms = [
      deriveRoomKeys(testKey(), "a"),
      deriveRoomKeys(testKey(), "b"),
      deriveRoomKeys(testKey(1), "a"),
      deriveWorkspaceRoom(testKey()),
      deriveRoomKeys(testKey(), ""),
    ].map(toVector);
    const values = rooms.flatMap((room) => [room.roomId, room.roomKey, room.recordKey, room.cursorKey]);
    expect(new Set(values).size).toBe(values.length);
  });

  test("[RC2] a key that came another way gives the same key id and sub-keys", () => {
    const derived = deriveRoomKeys(testKey(), "a");
    expect(createRoomKeys(derived.roomId, derived.roomKey)).toEqual(derived);
  });

  test("[RC2] a key of another length is refused", () => {
    expect(() => deriveRoomKeys(new Uint8Array(31), "a")).toThrow(RangeError);
    expect(() => deriveWorkspaceRoom(new Uint8Array(0))).toThrow(RangeError);
    expect(() => createRoomKeys("room", new Uint8Array(33))).toThrow(RangeError);
  });
});
