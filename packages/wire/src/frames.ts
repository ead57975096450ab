import type { Result } from "@coppice/core";
import {
  createEncoder,
  type Encoder,
  toUint8Array,
  writeUint8Array,
  writeVarString,
  writeVarUint,
  writeVarUint8Array,
} from "lib0/encoding";
import { type AwarenessState, readAwarenessStates, writeAwarenessStates } from "./awareness.ts";
import { ByteReader } from "./byte-reader.ts";
import { encodeExactly, varUintBytes } from "./exact-encoder.ts";
import { maxAwarenessFrameBytes, maxFrameBytes } from "./limits.ts";
import { encodeStateVector, readStateVector, type StateVector } from "./state-vector.ts";

/** The version a client names in its `ackRequest`. A relay refuses a greater one than its own. */
export const protocolVersion = 1;

/** How far the relay holds one client's structs durably. */
export interface AckPair {
  /** Yjs client id. */
  readonly client: number;
  /** Number of that client's structs that are durable at the relay (so the clock of the first one that is not). */
  readonly clock: number;
  /**
   * The first 8 bytes of SHA-256 of the record at `clock - 1`, or null when the relay does not say. Eight zero bytes on
   * the wire.
   */
  readonly check: Uint8Array | null;
}

/**
 * A message of the protocol: those of y-websocket (`syncStep1` to `queryAwareness`) and, under one message number of
 * our own, what only Coppice clients speak. A relay sends the latter only to connections that sent `ackRequest`,
 * because stock clients print an error for a number they do not know.
 */
export type Frame =
  /** What the sender holds; the answer is what it lacks, as `update` frames and a last `syncStep2`. */
  | { readonly type: "syncStep1"; readonly stateVector: StateVector }
  /** The (last part of the) answer to `syncStep1`. */
  | { readonly type: "syncStep2"; readonly update: Uint8Array }
  /** One update as it happens, or a part of the answer to `syncStep1`. */
  | { readonly type: "update"; readonly update: Uint8Array }
  /** Cursors. */
  | { readonly type: "awareness"; readonly states: readonly AwarenessState[] }
  /** Asks for everybody's cursors. */
  | { readonly type: "queryAwareness" }
  /** y-protocols/auth: the relay says that access was refused. */
  | { readonly type: "permissionDenied"; readonly reason: string }
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
  /** A sub type of our message number that this version does not know (drafts and digests will come here). */
  | { readonly type: "unknownExtension"; readonly subType: number; readonly payload: Uint8Array };

/**
 * Why bytes are no frame: `too_big` (more than a frame may have), `awareness_too_big`, `unknown_type` (a message
 * number that is neither y-websocket's nor ours), `malformed` (everything else).
 */
export type FrameError = "too_big" | "awareness_too_big" | "unknown_type" | "malformed";

// y-websocket's message numbers, y-protocols' sync and auth numbers, and ours.
const messageSync = 0;
const messageAwareness = 1;
const messageAuth = 2;
const messageQueryAwareness = 3;
const messageCoppice = 67;
const syncStep1 = 0;
const syncStep2 = 1;
const syncUpdate = 2;
const authPermissionDenied = 0;
const coppiceAckRequest = 0;
const coppiceAck = 1;
const coppiceRefused = 2;

const checkBytes = 8;
const smallFrameBytes = 64;

/**
 * Reads one websocket message. Never throws; whatever is not exactly one frame (bytes behind the end included) is an
 * error. Byte fields of the result are views of the input.
 */
export function parseFrame(bytes: Uint8Array): Result<Frame, FrameError> {
  if (bytes.length > maxFrameBytes) return { ok: false, error: "too_big" };
  const reader = new ByteReader(bytes);
  const message = reader.readVarUint();
  if (reader.failed) return { ok: false, error: "malformed" };
  if (message === messageAwareness && bytes.length > maxAwarenessFrameBytes) {
    return { ok: false, error: "awareness_too_big" };
  }
  const frame = readFrame(reader, message);
  if (frame === "unknown_type") return { ok: false, error: "unknown_type" };
  if (frame === undefined || !reader.isComplete) return { ok: false, error: "malformed" };
  return { ok: true, value: frame };
}

function readFrame(reader: ByteReader, message: number): Frame | "unknown_type" | undefined {
  switch (message) {
    case messageSync:
      return readSyncFrame(reader);
    case messageAwareness: {
      const inner = new ByteReader(reader.readVarBytes());
      const states = readAwarenessStates(inner);
      return inner.isComplete ? { type: "awareness", states } : undefined;
    }
    case messageAuth:
      if (reader.readVarUint() !== authPermissionDenied) return undefined;
      return { type: "permissionDenied", reason: reader.readVarString() };
    case messageQueryAwareness:
      return { type: "queryAwareness" };
    case messageCoppice:
      return readCoppiceFrame(reader);
    default:
      return "unknown_type";
  }
}

function readSyncFrame(reader: ByteReader): Frame | undefined {
  const kind = reader.readVarUint();
  const payload = reader.readVarBytes();
  switch (kind) {
    case syncStep1: {
      const inner = new ByteReader(payload);
      const stateVector = readStateVector(inner);
      return inner.isComplete ? { type: "syncStep1", stateVector } : undefined;
    }
    case syncStep2:
      return { type: "syncStep2", update: payload };
    case syncUpdate:
      return { type: "update", update: payload };
    default:
      return undefined;
  }
}

function readCoppiceFrame(reader: ByteReader): CoppiceFrame {
  const subType = reader.readVarUint();
  switch (subType) {
    case coppiceAckRequest: {
      const version = reader.readVarUint();
      const clients: number[] = [];
      const count = reader.readVarUint();
      for (let i = 0; i < count && !reader.failed; i += 1) clients.push(reader.readVarUint());
      return { type: "ackRequest", version, clients };
    }
    case coppiceAck:
      return { type: "ack", pairs: readAckPairs(reader) };
    case coppiceRefused:
      return { type: "refused", code: reader.readVarUint(), reason: reader.readVarString() };
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
    const check = reader.readBytes(checkBytes);
    pairs.push({ client, clock, check: check.every((byte) => byte === 0) ? null : check });
  }
  return pairs;
}

/** Writes one frame as a websocket message; `parseFrame` reads it back equal. */
export function encodeFrame(frame: Frame): Uint8Array {
  return encodeExactly(frameBytesHint(frame), (encoder) => writeFrame(encoder, frame));
}

/** Exact for the frames that are large and many, a guess for the others. */
function frameBytesHint(frame: Frame): number {
  if (frame.type !== "update" && frame.type !== "syncStep2") return smallFrameBytes;
  const { length } = frame.update;
  return varUintBytes(messageSync) + varUintBytes(syncUpdate) + varUintBytes(length) + length;
}

function writeFrame(encoder: Encoder, frame: Frame): void {
  switch (frame.type) {
    case "syncStep1":
      writeSyncFrame(encoder, syncStep1, encodeStateVector(frame.stateVector));
      break;
    case "syncStep2":
      writeSyncFrame(encoder, syncStep2, frame.update);
      break;
    case "update":
      writeSyncFrame(encoder, syncUpdate, frame.update);
      break;
    case "awareness": {
      const inner = createEncoder();
      writeAwarenessStates(inner, frame.states);
      writeVarUint(encoder, messageAwareness);
      writeVarUint8Array(encoder, toUint8Array(inner));
      break;
    }
    case "queryAwareness":
      writeVarUint(encoder, messageQueryAwareness);
      break;
    case "permissionDenied":
      writeVarUint(encoder, messageAuth);
      writeVarUint(encoder, authPermissionDenied);
      writeVarString(encoder, frame.reason);
      break;
    default:
      writeVarUint(encoder, messageCoppice);
      writeCoppiceFrame(encoder, frame);
  }
}

function writeSyncFrame(encoder: Encoder, kind: number, payload: Uint8Array): void {
  writeVarUint(encoder, messageSync);
  writeVarUint(encoder, kind);
  writeVarUint8Array(encoder, payload);
}

type CoppiceFrame = Extract<Frame, { type: "ackRequest" | "ack" | "refused" | "unknownExtension" }>;

function writeCoppiceFrame(encoder: Encoder, frame: CoppiceFrame): void {
  switch (frame.type) {
    case "ackRequest":
      writeVarUint(encoder, coppiceAckRequest);
      writeVarUint(encoder, frame.version);
      writeVarUint(encoder, frame.clients.length);
      for (const client of frame.clients) writeVarUint(encoder, client);
      break;
    case "ack":
      writeVarUint(encoder, coppiceAck);
      writeAckPairs(encoder, frame.pairs);
      break;
    case "refused":
      writeVarUint(encoder, coppiceRefused);
      writeVarUint(encoder, frame.code);
      writeVarString(encoder, frame.reason);
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
    writeUint8Array(encoder, check ?? new Uint8Array(checkBytes));
  }
}
