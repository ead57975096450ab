import type { Result } from "@coppice/core";
import { SessionError } from "@coppice/core";
import * as encoding from "lib0/encoding";
import { ByteReader, MalformedBytes } from "./byte-reader.ts";
import { NoncePool } from "./nonce-pool.ts";
import { padmeLength } from "./padme-length.ts";
import { NONCE_BYTES, pureRecordCrypto, type RecordCrypto, TAG_BYTES } from "./record-crypto.ts";
import { CURRENT_DICTIONARY_ID, dictionariesById } from "./record-dictionary.ts";
import { decodeHeader, encodeHeader, type RecordFields, type RecordHeader } from "./record-header.ts";
import { deriveRecordKey, type RoomKeys } from "./room-keys.ts";
import { decodeText, encodeText } from "./text-codec.ts";

/*
 * Record format 1, final: what is written once must be readable for ever. SPEC RC has the tables, test/golden the
 * vectors. A sealed record opens only at its own place (session, client id, clock) and only as a whole: header and
 * payload are sealed apart, so that headers can be indexed alone, and the payload is tied to the header's tag.
 */

/** The only format version there is. */
const RECORD_VERSION = 1;

/** Largest record, in bytes; the relay refuses more (design, limits). */
export const MAX_RECORD_BYTES: number = 8 * 1024 * 1024;

/** Largest JSON text a payload may inflate to, in bytes. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;

const FLAG_SEALED = 0x01;
const FLAG_DEFLATED = 0x02;
const FLAG_PADDED = 0x04;
const KNOWN_FLAGS = FLAG_SEALED | FLAG_DEFLATED | FLAG_PADDED;

/** version, flags, key id (4), dictionary id. */
const PREFIX_BYTES = 7;
const NO_DICTIONARY = 0;
const NO_KEY_ID = [0, 0, 0, 0];
const AD_MAGIC = "coppice record";

/** Where a record stands in the doc: the Yjs client id and clock of its struct. */
export interface RecordPlace {
  readonly clientId: number;
  readonly clock: number;
}

/** What a record says: an entry's index fields and its exact JSON text. */
export interface RecordContent extends RecordFields {
  readonly json: string;
}

/** What opening a payload needs of its record's header. */
export type PayloadSizes = Pick<RecordHeader, "jsonBytes" | "storedBytes">;

/** A record whose size is known and whose place is not yet. */
export interface PreparedRecord {
  /** What `openHeader` will say of it. */
  readonly header: RecordHeader;
  /** Size of what `placeAt` returns. */
  readonly byteLength: number;
  /** The record for exactly this place. Each call draws new nonces. */
  placeAt(place: RecordPlace): Uint8Array;
}

/**
 * Why a record, or its payload, cannot be shown. The first group is damage or a wrong key; `isNewer` tells the second,
 * what a later version of Coppice wrote.
 */
export type RecordProblem =
  | "malformed"
  | "not_authentic"
  | "no_key"
  | "other_key"
  | "plain_in_sealed_room"
  | "too_large"
  | "newer_version"
  | "newer_flags"
  | "newer_dictionary";

/** Whether a record is whole but written by a later version: an upgrade will read it. */
export function isNewer(problem: RecordProblem): boolean {
  return problem === "newer_version" || problem === "newer_flags" || problem === "newer_dictionary";
}

/** How records of one session are written and read. */
export interface RecordCodecOptions {
  /** Id of the session; sealed records open in no other. */
  sessionId: string;
  /**
   * The room's newest keys, which records are written with. Absent: an unsealed room, whose records are plain. A room
   * with keys never shows a plain record.
   */
  keys?: RoomKeys | undefined;
  /** Keys that were the newest once: records that were sealed with one of them are read too. Of no use without `keys`. */
  olderKeys?: readonly RoomKeys[] | undefined;
  /** Default: pure JavaScript. */
  crypto?: RecordCrypto | undefined;
  /** Deflate payloads that get smaller by it. Default true; reading knows both. */
  deflate?: boolean | undefined;
  /** Pad payloads to Padmé lengths. Default: in sealed rooms; reading knows both. */
  pad?: boolean | undefined;
}

/** Writes and reads the records of one session. Reading never throws, whatever the bytes. */
export class RecordCodec {
  readonly #crypto: RecordCrypto;
  /** The newest first, which is the one to write with; empty in an unsealed room. */
  #keys: readonly RecordKey[];
  readonly #nonces: NoncePool;
  readonly #magic = encodeText(AD_MAGIC);
  /** The session id, length first. */
  readonly #session: Uint8Array;
  readonly #deflate: boolean;
  readonly #pad: boolean;

  constructor(options: RecordCodecOptions) {
    this.#crypto = options.crypto ?? pureRecordCrypto;
    this.#nonces = new NoncePool(this.#crypto);
    const roomKeys = options.keys === undefined ? [] : [options.keys, ...(options.olderKeys ?? [])];
    this.#keys = roomKeys.map(toRecordKey);
    const sessionId = encodeText(options.sessionId);
    this.#session = joinBytes(encodeVarUint(sessionId.length), sessionId);
    this.#deflate = options.deflate ?? true;
    this.#pad = options.pad ?? this.#keys.length > 0;
  }

  /**
   * Writes with the first of these keys from now on, and reads with all of them. An unsealed room stays one. True when
   * one of them is new or another one is the newest.
   */
  takeKeys(keys: readonly RoomKeys[]): boolean {
    const isSame =
      keys.length === this.#keys.length && keys.every(({ keyId }, at) => isKeyId(keyId, this.#keys[at]?.id));
    if (this.#keys.length === 0 || keys.length === 0 || isSame) return false;
    this.#keys = keys.map(toRecordKey);
    return true;
  }

  /** Everything of a record that does not depend on its place. Throws `invalid_entry` when it would be too large. */
  prepareRecord(content: RecordContent): PreparedRecord {
    const [writing] = this.#keys;
    const json = encodeText(content.json);
    const deflated = this.#deflate ? this.#crypto.deflate(json, dictionariesById.get(CURRENT_DICTIONARY_ID)) : json;
    const isDeflated = deflated.length < json.length;
    const stored = isDeflated ? deflated : json;
    const header = toHeader(content, json.length, stored.length);
    const headerPlaintext = encodeHeader(header);
    const overhead = writing === undefined ? 0 : NONCE_BYTES + TAG_BYTES;
    const headerBytes = headerPlaintext.length + overhead;
    const headerLength = encodeVarUint(headerBytes);
    const unpadded = PREFIX_BYTES + headerLength.length + headerBytes + stored.length + overhead;
    const padding = this.#pad ? padmeLength(stored.length) - stored.length : 0;
    // Near the limit room matters more than hiding the last few percent of a length.
    const isPadded = this.#pad && unpadded + padding <= MAX_RECORD_BYTES;
    const byteLength = isPadded ? unpadded + padding : unpadded;
    if (json.length > MAX_JSON_BYTES) {
      throw new SessionError(
        "invalid_entry",
        `Entry ${content.id} has ${json.length} bytes of JSON; an entry has at most ${MAX_JSON_BYTES}`,
      );
    }
    if (byteLength > MAX_RECORD_BYTES) {
      throw new SessionError(
        "invalid_entry",
        `Entry ${content.id} takes ${byteLength} bytes; a record holds at most ${MAX_RECORD_BYTES}`,
      );
    }
    const payload = isPadded ? joinBytes(stored, new Uint8Array(padding)) : stored;
    const flags =
      (writing === undefined ? 0 : FLAG_SEALED) | (isDeflated ? FLAG_DEFLATED : 0) | (isPadded ? FLAG_PADDED : 0);
    const dictionaryId = isDeflated ? CURRENT_DICTIONARY_ID : NO_DICTIONARY;
    const prefix = Uint8Array.of(RECORD_VERSION, flags, ...(writing?.id ?? NO_KEY_ID), dictionaryId);
    return {
      header,
      byteLength,
      placeAt: (place) => {
        if (writing === undefined) return joinBytes(prefix, headerLength, headerPlaintext, payload);
        const associated = this.#associate(prefix, place);
        const headerPart = this.#sealPart(writing.key, headerPlaintext, associated);
        const payloadPart = this.#sealPart(writing.key, payload, joinBytes(associated, tagOf(headerPart)));
        return joinBytes(prefix, headerLength, headerPart, payloadPart);
      },
    };
  }

  /** The header of the record that stands at `place`. */
  openHeader(record: Uint8Array, place: RecordPlace): Result<RecordHeader, RecordProblem> {
    const split = this.#split(record);
    if (!split.ok) return split;
    const { prefix, key, headerPart } = split.value;
    const plaintext = key === undefined ? headerPart : this.#openPart(key, headerPart, this.#associate(prefix, place));
    if (plaintext === undefined) return failure("not_authentic");
    try {
      return { ok: true, value: decodeHeader(plaintext) };
    } catch (error) {
      if (error instanceof MalformedBytes) return failure("malformed");
      throw error;
    }
  }

  /** The exact JSON text of the record that stands at `place`, given its opened header. */
  openPayload(record: Uint8Array, place: RecordPlace, header: PayloadSizes): Result<string, RecordProblem> {
    const split = this.#split(record);
    if (!split.ok) return split;
    const { prefix, flags, dictionaryId, key, headerPart, payloadPart } = split.value;
    if (header.jsonBytes > MAX_JSON_BYTES) return failure("too_large");
    const plaintext =
      key === undefined
        ? payloadPart
        : this.#openPart(key, payloadPart, joinBytes(this.#associate(prefix, place), tagOf(headerPart)));
    if (plaintext === undefined) return failure("not_authentic");
    const { storedBytes, jsonBytes } = header;
    if (storedBytes > plaintext.length) return failure("malformed");
    const fullBytes = (flags & FLAG_PADDED) === 0 ? storedBytes : padmeLength(storedBytes);
    const padding = plaintext.subarray(storedBytes);
    if (plaintext.length !== fullBytes || padding.some((byte) => byte !== 0)) return failure("malformed");
    const stored = plaintext.subarray(0, storedBytes);
    const isDeflated = (flags & FLAG_DEFLATED) !== 0;
    const dictionary = dictionariesById.get(dictionaryId);
    if (isDeflated && dictionaryId !== NO_DICTIONARY && dictionary === undefined) return failure("newer_dictionary");
    // Nobody deflates what gets no smaller, nor names a dictionary that is not used.
    if (isDeflated ? storedBytes >= jsonBytes : storedBytes !== jsonBytes || dictionaryId !== NO_DICTIONARY) {
      return failure("malformed");
    }
    const json = isDeflated ? this.#crypto.inflate(stored, jsonBytes, dictionary) : stored;
    const text = json && decodeText(json);
    return text === undefined ? failure("malformed") : { ok: true, value: text };
  }

  /** Cuts a record into its parts and judges what can be judged without opening it. */
  #split(record: Uint8Array): Result<RecordParts, RecordProblem> {
    const [version, flags = 0] = record;
    if (version === undefined || version === 0) return failure("malformed");
    if (version > RECORD_VERSION) return failure("newer_version");
    if ((flags & ~KNOWN_FLAGS) !== 0) return failure("newer_flags");
    if (record.length > MAX_RECORD_BYTES) return failure("too_large");
    try {
      const reader = new ByteReader(record);
      const prefix = reader.readBytes(PREFIX_BYTES);
      const headerPart = reader.readBytes(reader.readVarUint());
      const payloadPart = reader.readBytes(reader.remaining);
      const key = this.#findKey((flags & FLAG_SEALED) !== 0, prefix.subarray(2, 6));
      if (!key.ok) return key;
      const dictionaryId = prefix[6] ?? 0;
      return { ok: true, value: { prefix, flags, dictionaryId, key: key.value, headerPart, payloadPart } };
    } catch (error) {
      if (error instanceof MalformedBytes) return failure("malformed");
      throw error;
    }
  }

  /** The key that opens a record; undefined for a plain record where such are allowed. */
  #findKey(isSealed: boolean, keyId: Uint8Array): Result<Uint8Array | undefined, RecordProblem> {
    if (isSealed) {
      if (this.#keys.length === 0) return failure("no_key");
      const fitting = this.#keys.find(({ id }) => isKeyId(keyId, id));
      return fitting === undefined ? failure("other_key") : { ok: true, value: fitting.key };
    }
    if (this.#keys.length > 0) return failure("plain_in_sealed_room");
    return keyId.every((byte) => byte === 0) ? { ok: true, value: undefined } : failure("malformed");
  }

  #sealPart(key: Uint8Array, plaintext: Uint8Array, associatedData: Uint8Array): Uint8Array {
    const nonce = this.#nonces.take();
    return joinBytes(nonce, this.#crypto.seal(key, nonce, plaintext, associatedData));
  }

  #openPart(key: Uint8Array, part: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined {
    if (part.length < NONCE_BYTES + TAG_BYTES) return undefined;
    return this.#crypto.open(key, part.subarray(0, NONCE_BYTES), part.subarray(NONCE_BYTES), associatedData);
  }

  /** Associated data of a header part; a payload part has the header's tag after it. */
  #associate(prefix: Uint8Array, { clientId, clock }: RecordPlace): Uint8Array {
    const placeBytes = new Uint8Array(16);
    writeUint64(placeBytes, 0, clientId);
    writeUint64(placeBytes, 8, clock);
    return joinBytes(this.#magic, prefix, this.#session, placeBytes);
  }
}

interface RecordKey {
  readonly id: Uint8Array;
  readonly key: Uint8Array;
}

interface RecordParts {
  /** Undefined: a plain record. */
  key: Uint8Array | undefined;
  prefix: Uint8Array;
  flags: number;
  dictionaryId: number;
  headerPart: Uint8Array;
  payloadPart: Uint8Array;
}

function toRecordKey({ keyId, roomKey }: RoomKeys): RecordKey {
  return { id: keyId, key: deriveRecordKey(roomKey) };
}

function isKeyId(keyId: Uint8Array, other: Uint8Array | undefined): boolean {
  return other !== undefined && keyId.every((byte, index) => byte === other[index]);
}

function failure(problem: RecordProblem): { ok: false; error: RecordProblem } {
  return { ok: false, error: problem };
}

/** Field by field: a spread takes some microseconds for each record. */
function toHeader(fields: RecordFields, jsonBytes: number, storedBytes: number): RecordHeader {
  const { id, parentId, type, timestamp, deviceId, n, role, targetId, label, sessionName } = fields;
  return { id, parentId, type, timestamp, deviceId, n, role, targetId, label, sessionName, jsonBytes, storedBytes };
}

/** Writes a whole number up to 2^53, the most significant byte first. */
function writeUint64(bytes: Uint8Array, at: number, value: number): void {
  let rest = value;
  for (let index = at + 7; index >= at; index--) {
    bytes[index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

/** The tag at the end of a sealed part. */
function tagOf(part: Uint8Array): Uint8Array {
  return part.subarray(Math.max(part.length - TAG_BYTES, 0));
}

function joinBytes(...parts: Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function encodeVarUint(value: number): Uint8Array {
  return encoding.encode((encoder) => encoding.writeVarUint(encoder, value));
}
