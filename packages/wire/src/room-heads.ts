import { type Encoder, writeUint8Array, writeVarString, writeVarUint } from "lib0/encoding";
import type { ByteReader } from "./byte-reader.ts";

/** Length of a digest, bytes. */
const digestBytes = 8;

/**
 * What a relay says of one room to whoever knows its name. `unknown`: nothing is stored under this name, or it cannot be
 * said now. `deleted`: for good.
 */
export type RoomHead =
  | { readonly room: string; readonly state: "unknown" | "deleted" }
  | {
      readonly room: string;
      readonly state: "present";
      /** `digestStateVector` of what is durable, 8 bytes: whoever has the same has all of the room. */
      readonly digest: Uint8Array;
      /** Number of records. */
      readonly records: number;
      /** Size of the stored updates. */
      readonly bytes: number;
      /** When the last of them was stored, ms since 1970 by the relay's clock: for showing alone. 0: not known. */
      readonly updatedAtMs: number;
    };

/** On the wire a state is its place in this list. */
const states: readonly RoomHead["state"][] = ["unknown", "present", "deleted"];

/** Reads the rooms a `headsRequest` names. The caller looks whether the reader failed. */
export function readRoomNames(reader: ByteReader): string[] {
  const rooms: string[] = [];
  const count = reader.readVarUint();
  for (let i = 0; i < count && !reader.failed; i += 1) rooms.push(reader.readVarString());
  return rooms;
}

/** Writes the rooms a `headsRequest` names. */
export function writeRoomNames(encoder: Encoder, rooms: readonly string[]): void {
  writeVarUint(encoder, rooms.length);
  for (const room of rooms) writeVarString(encoder, room);
}

/** Reads what a `heads` frame says. The caller looks whether the reader failed. */
export function readRoomHeads(reader: ByteReader): RoomHead[] {
  const heads: RoomHead[] = [];
  const count = reader.readVarUint();
  for (let i = 0; i < count && !reader.failed; i += 1) {
    const room = reader.readVarString();
    const state = states[reader.readVarUint()];
    if (state === undefined) reader.fail();
    else if (state !== "present") heads.push({ room, state });
    else
      heads.push({
        room,
        state,
        digest: reader.readBytes(digestBytes),
        records: reader.readVarUint(),
        bytes: reader.readVarUint(),
        updatedAtMs: reader.readVarUint(),
      });
  }
  return heads;
}

/** Writes what a `heads` frame says. Throws when a digest has another length. */
export function writeRoomHeads(encoder: Encoder, heads: readonly RoomHead[]): void {
  writeVarUint(encoder, heads.length);
  for (const head of heads) {
    writeVarString(encoder, head.room);
    writeVarUint(encoder, states.indexOf(head.state));
    if (head.state !== "present") continue;
    if (head.digest.length !== digestBytes)
      throw new RangeError(`${head.digest.length} bytes where ${digestBytes} belong`);
    writeUint8Array(encoder, head.digest);
    writeVarUint(encoder, head.records);
    writeVarUint(encoder, head.bytes);
    writeVarUint(encoder, head.updatedAtMs);
  }
}
