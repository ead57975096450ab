import type { Slices } from "@coppice/core";
import * as encoding from "lib0/encoding";
import { NONCE_BYTES, pureRecordCrypto, type RecordCrypto, TAG_BYTES } from "./record-crypto.ts";
import { deriveIndexKey, KEY_BYTES, type RoomKeys } from "./room-keys.ts";
import { encodeText } from "./text-codec.ts";

/** How the index snapshots of one session are sealed. */
export interface SealedIndexOptions {
  readonly sessionId: string;
  /** Absent: an unsealed room. */
  readonly keys?: RoomKeys | undefined;
  readonly crypto?: RecordCrypto | undefined;
  /** Of the snapshot's layout. */
  readonly version: number;
}

const AD_MAGIC = "coppice index";

/** Random bytes at the beginning of a snapshot and of each part's nonce: enough to keep any two snapshots apart. */
const NONCE_START_BYTES = NONCE_BYTES - 4;

/** Sealed at a time: pure JavaScript takes some milliseconds for it. */
const PART_BYTES = 256 * 1024;

/**
 * Seals an index snapshot as a whole, bound to session, key and layout version: random bytes, then parts of 256
 * KiB, each with the number of parts and its own in the associated data, its own also at the end of its nonce. In an unsealed room the key
 * is known to everybody; there the seal only finds damage, as a checksum does.
 */
export class SealedIndex {
  readonly #crypto: RecordCrypto;
  readonly #key: Uint8Array;
  readonly #associated: Uint8Array;

  constructor({ sessionId, keys, crypto, version }: SealedIndexOptions) {
    this.#crypto = crypto ?? pureRecordCrypto;
    this.#key = deriveIndexKey(keys?.roomKey ?? new Uint8Array(KEY_BYTES));
    this.#associated = encoding.encode((encoder) => {
      encoding.writeUint8Array(encoder, encodeText(AD_MAGIC));
      encoding.writeVarUint(encoder, version);
      encoding.writeVarUint8Array(encoder, encodeText(sessionId));
    });
  }

  /** Seals a snapshot, a slice at a time. */
  async seal(snapshot: Uint8Array, slices: Slices): Promise<Uint8Array> {
    const partCount = Math.max(1, Math.ceil(snapshot.length / PART_BYTES));
    const sealed = new Uint8Array(NONCE_START_BYTES + snapshot.length + partCount * TAG_BYTES);
    const nonce = this.#crypto.randomBytes(NONCE_START_BYTES);
    sealed.set(nonce);
    for (let part = 0, at = NONCE_START_BYTES; part < partCount; part++) {
      const plain = snapshot.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
      const bytes = this.#crypto.seal(this.#key, partNonce(nonce, part), plain, this.#associate(part, partCount));
      sealed.set(bytes, at);
      at += bytes.length;
      if (slices.isOver) await slices.next();
    }
    return sealed;
  }

  /** The snapshot in what `seal` made for this session, key and version; undefined for anything else. */
  async open(sealed: Uint8Array, slices: Slices): Promise<Uint8Array | undefined> {
    const sealedPartBytes = PART_BYTES + TAG_BYTES;
    const partCount = Math.max(1, Math.ceil((sealed.length - NONCE_START_BYTES) / sealedPartBytes));
    const length = sealed.length - NONCE_START_BYTES - partCount * TAG_BYTES;
    if (length < 0) return undefined;
    const nonce = sealed.subarray(0, NONCE_START_BYTES);
    const snapshot = new Uint8Array(length);
    for (let part = 0; part < partCount; part++) {
      const at = NONCE_START_BYTES + part * sealedPartBytes;
      const bytes = sealed.subarray(at, at + sealedPartBytes);
      const plain = this.#crypto.open(this.#key, partNonce(nonce, part), bytes, this.#associate(part, partCount));
      if (plain === undefined) return undefined;
      snapshot.set(plain, part * PART_BYTES);
      if (slices.isOver) await slices.next();
    }
    return snapshot;
  }

  #associate(part: number, partCount: number): Uint8Array {
    return encoding.encode((encoder) => {
      encoding.writeUint8Array(encoder, this.#associated);
      encoding.writeVarUint(encoder, partCount);
      encoding.writeVarUint(encoder, part);
    });
  }
}

function partNonce(start: Uint8Array, part: number): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  nonce.set(start);
  new DataView(nonce.buffer).setUint32(NONCE_START_BYTES, part);
  return nonce;
}
