import type { Result } from "@coppice/core";
import {
  createEncoder,
  type Encoder,
  toUint8Array,
  writeVarString,
  writeVarUint,
  writeVarUint8Array,
} from "lib0/encoding";
import { type AwarenessState, readAwarenessStates, writeAwarenessStates } from "./awareness.ts";
import { ByteReader } from "./byte-reader.ts";
import { type CoppiceFrame, readCoppiceFrame, writeCoppiceFrame } from "./coppice-frames.ts";
import { encodeExactly, varUintBytes } from "./exact-encoder.ts";
import { maxAwarenessFrameBytes, maxDraftBytes, maxFrameBytes } from "./limits.ts";
import { encodeStateVector, readStateVector, type StateVector } from "./state-vector.ts";

/**
 * The version a client names in its `ackRequest`. A relay refuses a greater one than its own. In version 1 a check was
 * of one record alone, and said nothing of those before it.
 */
export const protocolVersion = 2;

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
  | CoppiceFrame;

/**
 * Why bytes are no frame: `too_big` (more than a frame may have), `awareness_too_big` and `draft_too_big` (more than one
 * of these may have), `unknown_type` (a message number that is neither y-websocket's nor ours), `malformed` (everything
 * else).
 */
export type FrameError = "too_big" | "awareness_too_big" | "draft_too_big" | "unknown_type" | "malformed";

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
  if (frame.type === "draft" && frame.sealed.length > maxDraftBytes) return { ok: false, error: "draft_too_big" };
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
