import { createCipheriv } from "node:crypto";
import { hchacha } from "@noble/ciphers/chacha.js";
import fc from "fast-check";
import { deflateSync } from "fflate";
import * as encoding from "lib0/encoding";
import { describe, expect, test } from "vitest";
import { padmeLength } from "../src/padme-length.ts";
import type { RecordContent, RecordPlace } from "../src/record-codec.ts";
import { isNewer, MAX_RECORD_BYTES, RecordCodec } from "../src/record-codec.ts";
import { pureRecordCrypto } from "../src/record-crypto.ts";
import { decodeHeader, encodeHeader } from "../src/record-header.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { bytesToHex, countingCrypto, messageContent, testKey, unwrap } from "./helpers.ts";

const sessionId = "session-1";
const keys = deriveRoomKeys(testKey(), sessionId);
const place = { clientId: 7, clock: 42 };
const sealing = new RecordCodec({ sessionId, keys, crypto: countingCrypto() });
const plain = new RecordCodec({ sessionId });
/** Without deflate a record's size tells that of its text. */
const storing = new RecordCodec({ sessionId, keys, deflate: false });

function encode(codec: RecordCodec, content: RecordContent = messageContent(), at: RecordPlace = place): Uint8Array {
  return codec.prepareRecord(content).placeAt(at);
}

/** Header and text of a record, or the first problem. */
function read(codec: RecordCodec, record: Uint8Array, at: RecordPlace = place): string {
  const header = codec.openHeader(record, at);
  if (!header.ok) return `header ${header.error}`;
  const payload = codec.openPayload(record, at, header.value);
  return payload.ok ? payload.value : `payload ${payload.error}`;
}

function changed(record: Uint8Array, index: number, change: (byte: number) => number): Uint8Array {
  return record.map((byte, at) => (at === index ? change(byte) : byte));
}

/** A plain record put together by hand. */
function plainRecord(flags: number, dictionaryId: number, header: Uint8Array, payload: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeUint8Array(encoder, Uint8Array.of(1, flags, 0, 0, 0, 0, dictionaryId));
  encoding.writeVarUint8Array(encoder, header);
  encoding.writeUint8Array(encoder, payload);
  return encoding.toUint8Array(encoder);
}

function headerOf(jsonBytes: number, storedBytes: number): Uint8Array {
  return encodeHeader({ ...messageContent(), jsonBytes, storedBytes });
}

describe("a sealed record", () => {
  test("[RC4] opens at its own place", () => {
    expect(read(sealing, encode(sealing))).toBe(messageContent().json);
  });

  test("[RC4] does not open under another client id, clock or session", () => {
    const record = encode(sealing);
    expect(read(sealing, record, { clientId: 8, clock: 42 })).toBe("header not_authentic");
    expect(read(sealing, record, { clientId: 7, clock: 43 })).toBe("header not_authentic");
    const otherSession = new RecordCodec({ sessionId: "session-2", keys });
    expect(read(otherSession, record)).toBe("header not_authentic");
  });

  test("[RC4] does not open with any bit flipped", () => {
    const record = encode(sealing);
    for (let index = 0; index < record.length; index++) {
      for (let bit = 0; bit < 8; bit++) {
        const result = read(
          sealing,
          changed(record, index, (byte) => byte ^ (1 << bit)),
        );
        expect(result).toMatch(/^(header|payload) (not_authentic|malformed|other_key|plain_in_sealed_room|newer_)/);
      }
    }
  });

  test("[RC4] does not show the payload of another record, though both have one header text", () => {
    const [first, second] = [encode(sealing), encode(sealing)];
    const half = first.length - padmeLength(unwrap(sealing.openHeader(first, place)).storedBytes) - 40;
    const spliced = Uint8Array.from([...first.subarray(0, half), ...second.subarray(half)]);
    expect(read(sealing, second)).toBe(messageContent().json);
    expect(read(sealing, spliced)).toBe("payload not_authentic");
  });

  test("[RC4] is cut short nowhere", () => {
    const record = encode(sealing);
    for (let length = 0; length < record.length; length++) {
      expect(read(sealing, record.subarray(0, length))).toMatch(/^(header|payload) (malformed|not_authentic)$/);
    }
  });

  test("[RC5] stays closed without the key and says whose key it needs", () => {
    const record = encode(sealing);
    const other = new RecordCodec({ sessionId, keys: deriveRoomKeys(testKey(9), sessionId) });
    expect(read(plain, record)).toBe("header no_key");
    expect(read(other, record)).toBe("header other_key");
  });

  test("[RC17] is sealed with the newest key and opens with any of the room's keys", () => {
    const [newest, older, oldest] = [
      keys,
      deriveRoomKeys(testKey(5), sessionId),
      deriveRoomKeys(testKey(6), sessionId),
    ];
    const rotated = new RecordCodec({ sessionId, keys: newest, olderKeys: [older, oldest] });
    for (const written of [newest, older, oldest]) {
      const record = encode(new RecordCodec({ sessionId, keys: written }));
      expect(read(rotated, record)).toBe(messageContent().json);
    }
    const stranger = new RecordCodec({ sessionId, keys: deriveRoomKeys(testKey(9), sessionId) });
    expect(read(rotated, encode(stranger))).toBe("header other_key");
    expect(read(rotated, encode(plain))).toBe("header plain_in_sealed_room");
    expect(read(sealing, encode(rotated))).toBe(messageContent().json);
    expect(read(new RecordCodec({ sessionId, keys: older }), encode(rotated))).toBe("header other_key");
  });

  test("[RC5] is the only kind a room with a key shows", () => {
    expect(read(plain, encode(plain))).toBe(messageContent().json);
    expect(read(sealing, encode(plain))).toBe("header plain_in_sealed_room");
  });

  test("[RC5] shows none of its words to somebody without the key", () => {
    const record = bytesToHex(encode(sealing, messageContent({ id: "visible-id" })));
    for (const word of ["visible-id", "message", "hello", "device-a"]) {
      expect(record).not.toContain(bytesToHex(new TextEncoder().encode(word)));
    }
  });

  test("[RC6] never uses a nonce twice, not even for one record placed twice", () => {
    const prepared = sealing.prepareRecord(messageContent());
    const records = [prepared.placeAt(place), prepared.placeAt(place)];
    const nonces = records.flatMap((record) => {
      const headerStart = 8 + (record[7] === undefined || record[7] < 128 ? 0 : 1);
      const payloadStart = record.length - padmeLength(prepared.header.storedBytes) - 40;
      return [headerStart, payloadStart].map((start) => bytesToHex(record.slice(start, start + 24)));
    });
    expect(new Set(nonces).size).toBe(4);
  });

  test("[RC6] native ChaCha20-Poly1305 under an HChaCha20 subkey gives the same bytes", () => {
    const key = testKey();
    const nonce = testKey(50).subarray(0, 24);
    const [plaintext, associatedData] = [testKey(80), testKey(120)];
    const subkey = new Uint32Array(8);
    const sigma = new Uint32Array(new TextEncoder().encode("expand 32-byte k").buffer);
    hchacha(sigma, new Uint32Array(key.slice().buffer), new Uint32Array(nonce.slice(0, 16).buffer), subkey);
    const cipher = createCipheriv(
      "chacha20-poly1305",
      new Uint8Array(subkey.buffer),
      Uint8Array.from([0, 0, 0, 0, ...nonce.subarray(16)]),
      { authTagLength: 16 },
    );
    cipher.setAAD(associatedData, { plaintextLength: plaintext.length });
    const native = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    expect(bytesToHex(pureRecordCrypto.seal(key, nonce, plaintext, associatedData))).toBe(native.toString("hex"));
  });
});

describe("a record of a later version", () => {
  test("[RC7] is reported as newer and not as damaged", () => {
    for (const codec of [sealing, plain]) {
      const record = encode(codec);
      expect(
        read(
          codec,
          changed(record, 0, () => 2),
        ),
      ).toBe("header newer_version");
      for (const bit of [3, 4, 5, 6, 7]) {
        expect(
          read(
            codec,
            changed(record, 1, (flags) => flags | (1 << bit)),
          ),
        ).toBe("header newer_flags");
      }
    }
    expect(isNewer("newer_version") && isNewer("newer_flags") && isNewer("newer_dictionary")).toBe(true);
    expect(isNewer("malformed") || isNewer("other_key")).toBe(false);
  });

  test("[RC7] with an unknown dictionary keeps its header readable", () => {
    const json = new TextEncoder().encode("a".repeat(100));
    const stored = deflateSync(json);
    const record = plainRecord(0x02, 9, headerOf(json.length, stored.length), stored);
    expect(unwrap(plain.openHeader(record, place)).id).toBe("e1");
    expect(read(plain, record)).toBe("payload newer_dictionary");
  });

  test("[RC7] version 0 and an empty record are damage", () => {
    expect(
      read(
        plain,
        changed(encode(plain), 0, () => 0),
      ),
    ).toBe("header malformed");
    expect(read(plain, new Uint8Array(0))).toBe("header malformed");
  });
});

describe("the header", () => {
  const text = fc.string({ unit: "binary" });
  const optionalText = fc.option(fc.option(text), { nil: undefined });
  const anyHeader = fc.record({
    id: text,
    parentId: fc.option(text),
    type: text,
    timestamp: text,
    deviceId: text,
    n: fc.maxSafeNat(),
    jsonBytes: fc.maxSafeNat(),
    storedBytes: fc.maxSafeNat(),
    role: optionalText,
    targetId: optionalText,
    label: optionalText,
    sessionName: optionalText,
  });

  test("[RC8] every header is read as it was written, null and empty kept apart", () => {
    fc.assert(
      fc.property(anyHeader, (header) => {
        expect(decodeHeader(encodeHeader(header))).toEqual(header);
      }),
    );
  });

  test("[RC8] an index field with an unknown tag is skipped", () => {
    const bytes = Array.from(encodeHeader({ ...messageContent(), jsonBytes: 1, storedBytes: 1, role: undefined }));
    expect(bytes.pop()).toBe(0);
    const withUnknown = Uint8Array.from([...bytes, 3, 200, 3, 0xff, 0xfe, 1, 5, 117, 115, 101, 114, 201, 0]);
    expect(decodeHeader(withUnknown)).toMatchObject({ id: "e1", role: "user" });
  });

  test.each([
    ["a known index field twice", [2, 1, 2, 97, 1, 2, 97]],
    ["a byte after its end", [0, 0]],
    ["a text that is not UTF-8", [1, 1, 3, 0xc0, 0x80]],
    ["a surrogate pair written as two", [1, 1, 7, 0xed, 0xa0, 0xbc, 0xed, 0xbc, 0xb3]],
    ["a length past the end", [1, 1, 100, 97]],
    ["a number longer than needed", [0x80, 0]],
    ["a number that does not end", [0x80]],
    ["a number beyond 2^53", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ])("[RC8] %s is malformed", (_, end) => {
    const bytes = Array.from(encodeHeader({ ...messageContent(), jsonBytes: 1, storedBytes: 1, role: undefined }));
    const header = Uint8Array.from([...bytes.slice(0, -1), ...end]);
    // A view with more bytes beneath must not be read past its end.
    const view = Uint8Array.from([...plainRecord(0, 0, header, Uint8Array.of(97)), ...bytes]);
    expect(read(plain, view.subarray(0, view.length - bytes.length))).toBe("header malformed");
  });

  test("[RC8] a header length that is not minimal or points outside is malformed", () => {
    const record = encode(plain, messageContent({ type: "m" }));
    const length = record[7] ?? 0;
    expect(length).toBeLessThan(128);
    const longer = Uint8Array.from([...record.subarray(0, 7), length | 0x80, 0, ...record.subarray(8)]);
    expect(read(plain, longer)).toBe("header malformed");
    expect(read(plain, record.subarray(0, 20))).toBe("header malformed");
  });
});

describe("the payload", () => {
  test("[RC9] any text survives byte for byte, plain and sealed, deflated and padded or not", () => {
    const codecs = [undefined, keys].flatMap((roomKeys) =>
      [true, false].flatMap((deflate) =>
        [true, false].map((pad) => new RecordCodec({ sessionId, keys: roomKeys, deflate, pad })),
      ),
    );
    const anyText = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc.string().map((text) => text.repeat(50)),
    );
    fc.assert(
      fc.property(anyText, fc.constantFrom(...codecs), (json, codec) => {
        expect(read(codec, encode(codec, messageContent({ json })))).toBe(json);
      }),
    );
  });

  test.each([
    ["an unpaired surrogate as a character", '"\ud83c"'],
    ["a byte order mark", '\ufeff"a"'],
    ["key order, __proto__ and a key twice", '{"b":1,"__proto__":{"x":1},"a":2,"b":3}'],
    ["30 digits and 1e400", "[123456789012345678901234567890,1e400,-0.0]"],
    ["escapes and blanks", '{ "a" : "\\u0041\\/\\ud83c" }\r'],
  ])("[RC9] %s survives", (_, json) => {
    expect(read(sealing, encode(sealing, messageContent({ json })))).toBe(json);
  });

  test("[RC10] is padded to the next Padmé length in sealed rooms", () => {
    const lengths = [0, 1, 2, 9, 100, 1000, 1023, 1024, 1025, 1_000_001, 2 ** 23].map(padmeLength);
    expect(lengths).toEqual([0, 1, 2, 10, 104, 1024, 1024, 1024, 1088, 1_015_808, 2 ** 23]);
    const sizes = [100, 101, 103, 104].map(
      (size) => encode(storing, messageContent({ json: "a".repeat(size) })).length,
    );
    expect(new Set(sizes).size).toBe(1);
    expect(encode(storing, messageContent({ json: "a".repeat(105) })).length).toBeGreaterThan(sizes[0] ?? 0);
  });

  test("[RC10] padding other than zeros, of another length, or without the flag is malformed", () => {
    const json = new TextEncoder().encode("a".repeat(9));
    const header = headerOf(9, 9);
    expect(read(plain, plainRecord(0x04, 0, header, Uint8Array.from([...json, 0])))).toBe("a".repeat(9));
    expect(read(plain, plainRecord(0x04, 0, header, Uint8Array.from([...json, 1])))).toBe("payload malformed");
    expect(read(plain, plainRecord(0x04, 0, header, json))).toBe("payload malformed");
    expect(read(plain, plainRecord(0x04, 0, header, Uint8Array.from([...json, 0, 0])))).toBe("payload malformed");
    expect(read(plain, plainRecord(0x00, 0, header, Uint8Array.from([...json, 0])))).toBe("payload malformed");
  });

  test("[RC16] is deflated with dictionary 1 when that makes it smaller, in unsealed rooms too", () => {
    const flagsAndDictionary = (codec: RecordCodec, json: string) => {
      const record = encode(codec, messageContent({ json }));
      return [record[1], record[6]];
    };
    expect(flagsAndDictionary(plain, messageContent().json)).toEqual([0x02, 1]);
    expect(flagsAndDictionary(sealing, messageContent().json)).toEqual([0x07, 1]);
    expect(flagsAndDictionary(plain, "a")).toEqual([0x00, 0]);
    expect(flagsAndDictionary(sealing, "a")).toEqual([0x05, 0]);
    expect(encode(plain).length).toBeLessThan(encode(new RecordCodec({ sessionId, deflate: false })).length - 60);
  });

  test("[RC11] must inflate to exactly the declared size", () => {
    const json = new TextEncoder().encode("ab".repeat(300));
    const stored = deflateSync(json);
    const declare = (size: number, bytes: Uint8Array = stored) =>
      read(plain, plainRecord(0x02, 0, headerOf(size, bytes.length), bytes));
    expect(declare(600)).toBe("ab".repeat(300));
    for (const size of [599, 601, 598, 10_000]) expect(declare(size)).toBe("payload malformed");
    expect(declare(600, stored.subarray(0, stored.length - 2))).toBe("payload malformed");
    expect(declare(600, Uint8Array.of(7, 7, 7))).toBe("payload malformed");
  });

  test("[RC11] a declared size of more than 32 MiB is not inflated", () => {
    const bomb = deflateSync(new Uint8Array(33 * 1024 * 1024));
    expect(read(plain, plainRecord(0x02, 0, headerOf(33 * 1024 * 1024, bomb.length), bomb))).toBe("payload too_large");
  });

  test("[RC11] a stored size that cannot be, or a dictionary without deflate, is malformed", () => {
    const json = new TextEncoder().encode("a".repeat(9));
    expect(read(plain, plainRecord(0x00, 0, headerOf(8, 9), json))).toBe("payload malformed");
    expect(read(plain, plainRecord(0x00, 0, headerOf(9, 2 ** 40), json))).toBe("payload malformed");
    expect(read(plain, plainRecord(0x00, 1, headerOf(9, 9), json))).toBe("payload malformed");
    const grown = deflateSync(json, { level: 0 });
    expect(read(plain, plainRecord(0x02, 0, headerOf(9, grown.length), grown))).toBe("payload malformed");
  });

  test("[RC12] a record of more than 8 MiB is neither written nor read", () => {
    const tooLarge = messageContent({ json: "a".repeat(MAX_RECORD_BYTES) });
    expect(() => storing.prepareRecord(tooLarge)).toThrow(
      expect.objectContaining({ code: "invalid_entry", message: expect.stringContaining("e1") }),
    );
    const record = new Uint8Array(MAX_RECORD_BYTES + 1);
    record.set(encode(plain));
    expect(read(plain, record)).toBe("header too_large");
  });

  test("[RC12] near the limit a record is written without padding", () => {
    const json = "a".repeat(MAX_RECORD_BYTES - 400);
    const record = encode(storing, messageContent({ json }));
    expect(record[1]).toBe(0x01);
    expect(record.length).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    expect(read(sealing, record) === json).toBe(true);
  });
});

describe("foreign bytes", () => {
  test("[RC13] reading never throws", () => {
    const anyRecord = fc.oneof(
      fc.uint8Array(),
      fc.uint8Array().map((bytes) => Uint8Array.from([1, 0, 0, 0, 0, 0, 0, ...bytes])),
      fc.tuple(fc.nat(200), fc.uint8Array({ maxLength: 3 })).map(([at, bytes]) => {
        const record = encode(plain);
        record.set(bytes, Math.min(at, record.length - 3));
        return record;
      }),
    );
    const header = { ...messageContent(), jsonBytes: 3, storedBytes: 5 };
    fc.assert(
      fc.property(anyRecord, (record) => {
        for (const codec of [plain, sealing]) {
          read(codec, record);
          codec.openPayload(record, place, header);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
