import { fromBase64UrlEncoded, toBase64UrlEncoded } from "lib0/buffer";
import * as encoding from "lib0/encoding";
import { NONCE_BYTES, pureRecordCrypto, type RecordCrypto } from "./record-crypto.ts";
import { deriveCursorKey, type RoomKeys } from "./room-keys.ts";
import { decodeText, encodeText } from "./text-codec.ts";

/** Where a replica stands, as the others see it. */
export interface Cursor {
  readonly device: string;
  /** One open copy of the session in one process; a device may have several. */
  readonly replica: string;
  /** Where this replica stands, also while it follows another: what it looks at then is a function of that one's cursor. */
  readonly leafId: string | null;
  /** The device whose leaf this replica follows. */
  readonly following?: string;
  /** True while an agent works on this replica. */
  readonly running?: boolean;
}

/** The awareness state of a replica: a cursor, sealed when the room is. */
export type CursorState = { v: 1; sealed: string } | { v: 1; cursor: Cursor };

/** How the cursors of one session are written and read. */
export interface CursorContext {
  readonly sessionId: string;
  /** The room's cursor keys, the newest first; empty in an unsealed room. */
  readonly keys: readonly Uint8Array[];
  readonly crypto: RecordCrypto;
}

const STATE_VERSION = 1;
const AD_MAGIC = "coppice cursor";

/** Longest sealed text that is looked at: the relay forwards no larger awareness state (design, limits). */
const MAX_SEALED_CHARS = 16 * 1024;

/** Derives the cursor keys once for many states. Absent keys: an unsealed room. */
export function createCursorContext(options: {
  sessionId: string;
  keys?: RoomKeys | undefined;
  /** Keys that were the newest once. Of no use without `keys`. */
  olderKeys?: readonly RoomKeys[] | undefined;
  crypto?: RecordCrypto | undefined;
}): CursorContext {
  const roomKeys = options.keys === undefined ? [] : [options.keys, ...(options.olderKeys ?? [])];
  return {
    sessionId: options.sessionId,
    keys: roomKeys.map(({ roomKey }) => deriveCursorKey(roomKey)),
    crypto: options.crypto ?? pureRecordCrypto,
  };
}

/**
 * The awareness state that shows a cursor. `clientId` is the awareness client id it is set under: it opens under no
 * other. `counter` must rise with every state of that client id, so that an older one sent again is told apart.
 */
export function encodeCursor(cursor: Cursor, counter: number, clientId: number, context: CursorContext): CursorState {
  const [key] = context.keys;
  if (key === undefined) return { v: STATE_VERSION, cursor };
  const nonce = context.crypto.randomBytes(NONCE_BYTES);
  const plaintext = encodeText(JSON.stringify({ ...cursor, counter }));
  const sealed = context.crypto.seal(key, nonce, plaintext, associate(clientId, context));
  return { v: STATE_VERSION, sealed: toBase64UrlEncoded(Uint8Array.of(...nonce, ...sealed)) };
}

/**
 * The cursor of an awareness state, with its counter (0 in an unsealed room). Undefined for everything else: garbage,
 * another key, session or client id, a plain state in a sealed room. Never throws.
 */
export function decodeCursor(
  state: unknown,
  clientId: number,
  context: CursorContext,
): { cursor: Cursor; counter: number } | undefined {
  if (!isObject(state) || state.v !== STATE_VERSION || !Number.isSafeInteger(clientId)) return undefined;
  if (context.keys.length === 0) {
    const cursor = toCursor(state.cursor);
    return cursor && { cursor, counter: 0 };
  }
  const bytes = typeof state.sealed === "string" ? base64UrlToBytes(state.sealed) : undefined;
  if (bytes === undefined) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  if (nonce.length < NONCE_BYTES) return undefined;
  const plaintext = openWithAny(context, nonce, bytes.subarray(NONCE_BYTES), associate(clientId, context));
  const content = plaintext && parseJson(decodeText(plaintext));
  const cursor = toCursor(content);
  const counter = isObject(content) ? content.counter : undefined;
  if (cursor === undefined || typeof counter !== "number" || !Number.isSafeInteger(counter)) return undefined;
  return { cursor, counter };
}

/** A state does not say which key sealed it; a room has few. */
function openWithAny(
  { keys, crypto }: CursorContext,
  nonce: Uint8Array,
  sealed: Uint8Array,
  associated: Uint8Array,
): Uint8Array | undefined {
  for (const key of keys) {
    const plaintext = crypto.open(key, nonce, sealed, associated);
    if (plaintext !== undefined) return plaintext;
  }
  return undefined;
}

function associate(clientId: number, context: CursorContext): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeUint8Array(encoder, encodeText(AD_MAGIC));
  encoding.writeUint8(encoder, STATE_VERSION);
  encoding.writeVarUint8Array(encoder, encodeText(context.sessionId));
  encoding.writeBigUint64(encoder, BigInt(clientId));
  return encoding.toUint8Array(encoder);
}

/** A clean cursor out of foreign JSON: known fields only. */
function toCursor(content: unknown): Cursor | undefined {
  if (!isObject(content)) return undefined;
  const { device, replica, leafId, following, running } = content;
  if (typeof device !== "string" || typeof replica !== "string") return undefined;
  if (leafId !== null && typeof leafId !== "string") return undefined;
  return {
    device,
    replica,
    leafId,
    ...(typeof following === "string" ? { following } : {}),
    ...(typeof running === "boolean" ? { running } : {}),
  };
}

function isObject(value: unknown): value is { [field: string]: unknown } {
  return typeof value === "object" && value !== null;
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Sealed by somebody with the key, but no cursor.
    return undefined;
  }
}

function base64UrlToBytes(text: string): Uint8Array | undefined {
  if (text.length > MAX_SEALED_CHARS) return undefined;
  try {
    return fromBase64UrlEncoded(text);
  } catch {
    // Not base64.
    return undefined;
  }
}
