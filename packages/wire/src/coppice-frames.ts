import { type Encoder, writeUint8Array, writeVarString, writeVarUint, writeVarUint8Array } from "lib0/encoding";
import type { ByteReader } from "./byte-reader.ts";
import { type RoomHead, readRoomHeads, readRoomNames, writeRoomHeads, writeRoomNames } from "./room-heads.ts";

/** How far the relay holds one client's structs durably. */
export interface AckPair {
  /** Yjs client id. */
  readonly client: number;
  /** Number of that client's structs that are durable at the relay (so the clock of the first one that is not). */
  readonly clock: number;
  /**
   * Check of these structs (`extendCheck`), or null when there are none or the relay does not say. Eight zero bytes on
   * the wire.
   */
  readonly check: Uint8Array | null;
}

/** What only Coppice clients speak; all of it under one message number that stock clients do not know. */
export type CoppiceFrame =
  /**
   * Asks for acknowledgements. The relay answers at once with an `ack` of the named clients (all it has when none is
   * named; a named client it does not have gets clock 0). From then on, after each commit, this connection gets
   * an `ack` with the clients of every frame it delivered itself, and of the clients it named. May be sent again at
   * any time; the last list counts.
   */
  | { readonly type: "ackRequest"; readonly version: number; readonly clients: readonly number[] }
  /** What is durable at the relay. */
  | { readonly type: "ack"; readonly pairs: readonly AckPair[] }
  /** Something this connection sent was not taken, and the connection stays open. `code` is a close code. */
  | { readonly type: "refused"; readonly code: number; readonly reason: string }
  /**
   * Digest of the sender's state vector (`digestStateVector`), 8 bytes. The relay answers one with its own. Equal: both
   * hold the same, and the line works in both directions. Different: the client sends its syncStep1.
   */
  | { readonly type: "digest"; readonly digest: Uint8Array }
  /** Something sealed that is shown and never kept (text as it is being written). Goes to the Coppice clients that are connected. */
  | { readonly type: "draft"; readonly sealed: Uint8Array }
  /** Deletes the room for good, if this is the secret its name was made from (`deriveRoomId`). 32 bytes. */
  | { readonly type: "deleteRoom"; readonly secret: Uint8Array }
  /**
   * Asks what the relay has of other rooms, at most `maxRoomsPerRequest` of them. The relay answers with `heads` of all
   * of them, each once; a relay of an earlier version with `refused`.
   */
  | { readonly type: "headsRequest"; readonly rooms: readonly string[] }
  /** What the relay has of rooms. */
  | { readonly type: "heads"; readonly heads: readonly RoomHead[] }
  /** A sub type that this version does not know. */
  | { readonly type: "unknownExtension"; readonly subType: number; readonly payload: Uint8Array };

const ackRequest = 0;
const ack = 1;
const refused = 2;
const digest = 3;
const draft = 4;
const deleteRoom = 5;
const headsRequest = 6;
const heads = 7;

/** Length of a check and of a digest. */
const hashBytes = 8;
const secretBytes = 32;

/** Reads what follows the message number. The caller looks whether the reader failed, or has anything left. */
export function readCoppiceFrame(reader: ByteReader): CoppiceFrame {
  const subType = reader.readVarUint();
  switch (subType) {
    case ackRequest: {
      const version = reader.readVarUint();
      const clients: number[] = [];
      const count = reader.readVarUint();
      for (let i = 0; i < count && !reader.failed; i += 1) clients.push(reader.readVarUint());
      return { type: "ackRequest", version, clients };
    }
    case ack:
      return { type: "ack", pairs: readAckPairs(reader) };
    case refused:
      return { type: "refused", code: reader.readVarUint(), reason: reader.readVarString() };
    case digest:
      return { type: "digest", digest: reader.readBytes(hashBytes) };
    case draft:
      return { type: "draft", sealed: reader.readVarBytes() };
    case deleteRoom:
      return { type: "deleteRoom", secret: reader.readBytes(secretBytes) };
    case headsRequest:
      return { type: "headsRequest", rooms: readRoomNames(reader) };
    case heads:
      return { type: "heads", heads: readRoomHeads(reader) };
    default:
      return { type: "unknownExtension", subType, payload: reader.readBytes(reader.remaining) };
  }
}

function readAckPairs(reader: ByteReader): AckPair[] {
  const pairs: AckPair[] = [];
  const count = reader.readVarUint();
  for (let i = 0; i < count && !reader.failed; i += 1) {
    const client = reader.readVarUint();
    const clock = reader.readVarUint();
    const check = reader.readBytes(hashBytes);
    pairs.push({ client, clock, check: check.every((byte) => byte === 0) ? null : check });
  }
  return pairs;
}

/** Writes what follows the message number. Throws when a digest or a secret has another length than its kind has. */
export function writeCoppiceFrame(encoder: Encoder, frame: CoppiceFrame): void {
  switch (frame.type) {
    case "ackRequest":
      writeVarUint(encoder, ackRequest);
      writeVarUint(encoder, frame.version);
      writeVarUint(encoder, frame.clients.length);
      for (const client of frame.clients) writeVarUint(encoder, client);
      break;
    case "ack":
      writeVarUint(encoder, ack);
      writeAckPairs(encoder, frame.pairs);
      break;
    case "refused":
      writeVarUint(encoder, refused);
      writeVarUint(encoder, frame.code);
      writeVarString(encoder, frame.reason);
      break;
    case "digest":
      writeVarUint(encoder, digest);
      writeExactly(encoder, frame.digest, hashBytes);
      break;
    case "draft":
      writeVarUint(encoder, draft);
      writeVarUint8Array(encoder, frame.sealed);
      break;
    case "deleteRoom":
      writeVarUint(encoder, deleteRoom);
      writeExactly(encoder, frame.secret, secretBytes);
      break;
    case "headsRequest":
      writeVarUint(encoder, headsRequest);
      writeRoomNames(encoder, frame.rooms);
      break;
    case "heads":
      writeVarUint(encoder, heads);
      writeRoomHeads(encoder, frame.heads);
      break;
    case "unknownExtension":
      writeVarUint(encoder, frame.subType);
      writeUint8Array(encoder, frame.payload);
      break;
  }
}

function writeAckPairs(encoder: Encoder, pairs: readonly AckPair[]): void {
  writeVarUint(encoder, pairs.length);
  for (const { client, clock, check } of pairs) {
    writeVarUint(encoder, client);
    writeVarUint(encoder, clock);
    writeExactly(encoder, check ?? new Uint8Array(hashBytes), hashBytes);
  }
}

function writeExactly(encoder: Encoder, bytes: Uint8Array, byteLength: number): void {
  if (bytes.length !== byteLength) throw new RangeError(`${bytes.length} bytes where ${byteLength} belong`);
  writeUint8Array(encoder, bytes);
}
