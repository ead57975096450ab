import type { RecordContent } from "../src/record-codec.ts";
import { pureRecordCrypto, type RecordCrypto } from "../src/record-crypto.ts";

/** The port with nonces that count up from `start`, so that sealed bytes repeat from run to run. */
export function countingCrypto(start = 0): RecordCrypto {
  let next = start;
  return {
    ...pureRecordCrypto,
    randomBytes: (length) => Uint8Array.from({ length }, () => next++ & 0xff),
  };
}

/** The content of a user message record. */
export function messageContent(overrides: Partial<RecordContent> = {}): RecordContent {
  const json =
    '{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"hello"}}';
  return {
    id: "e1",
    parentId: null,
    type: "message",
    timestamp: "2026-01-02T03:04:05.678Z",
    deviceId: "device-a",
    n: 1,
    role: "user",
    json,
    ...overrides,
  };
}

/** Bytes 0, 1, 2, ... as a key that repeats from run to run. */
export function testKey(first = 0): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => (first + index) & 0xff);
}

/** The value of a result that must be ok. */
export function unwrap<Value>(result: { ok: true; value: Value } | { ok: false; error: unknown }): Value {
  if (!result.ok) throw new Error(`expected a value, got ${String(result.error)}`);
  return result.value;
}

export function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function bytesToHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The JSON text of a session header. */
export function headerText(id: string, timestamp = "2026-01-01T00:00:00.000Z"): string {
  return JSON.stringify({ type: "session", version: 3, id, timestamp, cwd: "/work/project" });
}
