import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes } from "@noble/hashes/utils.js";
import { encodeText } from "./text-codec.ts";

/** Bytes of a workspace key and of a room key. */
export const KEY_BYTES = 32;

/** What a device holds to use a sealed room. */
export interface RoomKeys {
  /** The room's name at the relay: 32 lower-case hex characters that say nothing about the session. */
  readonly roomId: string;
  /** 32 bytes; whoever has them reads and writes the room. */
  readonly roomKey: Uint8Array;
  /** 4 bytes in every record that tell which key sealed it. Derived from the key, not secret. */
  readonly keyId: Uint8Array;
}

/**
 * The room and the first key of a session in a workspace. Two devices that import one file offline derive the same
 * and so meet in one room. Throws a RangeError unless the workspace key has 32 bytes. SPEC RC.
 */
export function deriveRoomKeys(workspaceKey: Uint8Array, sessionId: string): RoomKeys {
  return createRoomKeys(
    toRoomId(deriveDeletionSecret(workspaceKey, sessionId)),
    derive(workspaceKey, "coppice v1 room key", sessionId, KEY_BYTES),
  );
}

/**
 * The 32 bytes that allow to delete a session's room on a relay that knows no owners. The room's id is their hash, so
 * the relay can check them without having been told anything before, and nobody can take a room of that id first and
 * keep it from being deleted. Throws a RangeError unless the workspace key has 32 bytes. SPEC RC.
 */
export function deriveDeletionSecret(workspaceKey: Uint8Array, sessionId: string): Uint8Array {
  return derive(workspaceKey, "coppice v1 room deletion", sessionId, KEY_BYTES);
}

/** The room and the first key of the workspace's own log. Throws a RangeError unless the key has 32 bytes. */
export function deriveWorkspaceRoom(workspaceKey: Uint8Array): RoomKeys {
  return createRoomKeys(
    bytesToHex(derive(workspaceKey, "coppice v1 workspace room id", "", 16)),
    derive(workspaceKey, "coppice v1 workspace room key", "", KEY_BYTES),
  );
}

/** Room keys from a room id and a key that came another way: a share link, a rotation. Checks the key's length. */
export function createRoomKeys(roomId: string, roomKey: Uint8Array): RoomKeys {
  return { roomId, roomKey, keyId: derive(roomKey, "coppice v1 key id", "", 4) };
}

/** The key that seals the records of a room. */
export function deriveRecordKey(roomKey: Uint8Array): Uint8Array {
  return derive(roomKey, "coppice v1 record key", "", KEY_BYTES);
}

/** The key that seals the cursors of a room. */
export function deriveCursorKey(roomKey: Uint8Array): Uint8Array {
  return derive(roomKey, "coppice v1 cursor key", "", KEY_BYTES);
}

/** The key that seals the index snapshot a device keeps of a room. */
export function deriveIndexKey(roomKey: Uint8Array): Uint8Array {
  return derive(roomKey, "coppice v1 index key", "", KEY_BYTES);
}

/** The first 16 bytes of SHA-256 over a fixed text, a zero byte, and the secret. */
function toRoomId(deletionSecret: Uint8Array): string {
  return bytesToHex(sha256(concatBytes(encodeText("coppice v1 room id\0"), deletionSecret)).subarray(0, 16));
}

/** HKDF-SHA256 without salt; info = purpose, a zero byte, the subject. No purpose holds a zero byte, so none collide. */
function derive(key: Uint8Array, purpose: string, subject: string, length: number): Uint8Array {
  if (key.length !== KEY_BYTES) throw new RangeError(`A key has ${KEY_BYTES} bytes, not ${key.length}`);
  return hkdf(sha256, key, undefined, encodeText(`${purpose}\0${subject}`), length);
}
