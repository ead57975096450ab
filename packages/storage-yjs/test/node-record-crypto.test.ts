import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodeRecordCrypto } from "../src/node/node-record-crypto.ts";
import { NoncePool } from "../src/nonce-pool.ts";
import { pureRecordCrypto, type RecordCrypto } from "../src/record-crypto.ts";
import { bytesToHex, testKey } from "./helpers.ts";

const cryptos: [string, RecordCrypto, RecordCrypto][] = [
  ["node", nodeRecordCrypto, pureRecordCrypto],
  ["pure", pureRecordCrypto, nodeRecordCrypto],
];

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
/** Parts of all lengths, some of them views into a larger buffer as those of a record are. */
const anyBytes = fc
  .tuple(fc.uint8Array({ size: "large" }), fc.nat(7), fc.boolean())
  .map(([part, shift, isView]) =>
    isView ? Uint8Array.from([...testKey().subarray(0, shift), ...part]).subarray(shift) : part,
  );
/** Text with repetitions, so that there is something to deflate, and text without. */
const anyText = fc.oneof(
  anyBytes,
  fc.json().map((json) => new TextEncoder().encode(json.repeat(3))),
  fc.constant(new TextEncoder().encode("0123456789abcdef".repeat(500))),
);
const anyDictionary = fc.option(
  fc.oneof(
    fc.uint8Array({ minLength: 1 }),
    fc.constant(new TextEncoder().encode('{"type":"message","content":"0123456789abcdef')),
  ),
  { nil: undefined },
);

/** Long arrays are compared as text: element by element takes the test framework seconds. */
function hexOf(result: Uint8Array | undefined): string | undefined {
  return result && bytesToHex(result);
}

describe.each(cryptos)("the %s crypto", (_, own, other) => {
  test("[RC6] seals to the same bytes as the other", () => {
    fc.assert(
      fc.property(bytes(32), bytes(24), anyBytes, anyBytes, (key, nonce, plaintext, associatedData) => {
        const sealed = own.seal(key, nonce, plaintext, associatedData);
        expect(bytesToHex(sealed)).toBe(bytesToHex(other.seal(key, nonce, plaintext, associatedData)));
        expect(sealed.length).toBe(plaintext.length + 16);
      }),
    );
  });

  test("[RC6] opens what the other sealed, and nothing else", () => {
    fc.assert(
      fc.property(bytes(32), bytes(24), anyBytes, anyBytes, fc.nat(), (key, nonce, plaintext, data, at) => {
        const sealed = other.seal(key, nonce, plaintext, data);
        expect(hexOf(own.open(key, nonce, sealed, data))).toBe(bytesToHex(plaintext));
        const flip = (part: Uint8Array) => part.map((byte, index) => (index === at % part.length ? byte ^ 1 : byte));
        expect(own.open(flip(key), nonce, sealed, data)).toBeUndefined();
        expect(own.open(key, flip(nonce), sealed, data)).toBeUndefined();
        expect(own.open(key, nonce, flip(sealed), data)).toBeUndefined();
        expect(own.open(key, nonce, sealed, Uint8Array.from([...data, 0]))).toBeUndefined();
        expect(own.open(key, nonce, sealed.subarray(0, at % sealed.length), data)).toBeUndefined();
      }),
    );
  });

  test("[RC14] inflates what the other deflated, with and without a dictionary", () => {
    fc.assert(
      fc.property(anyText, anyDictionary, (text, dictionary) => {
        const deflated = other.deflate(text, dictionary);
        expect(hexOf(own.inflate(deflated, text.length, dictionary))).toBe(bytesToHex(text));
      }),
    );
  });

  test("[RC14] inflates what does not get smaller, the dictionary not mixed in", () => {
    const noise = own.seal(testKey(), testKey().subarray(0, 24), new Uint8Array(20_000), testKey());
    for (const text of [noise, noise.subarray(0, 55), Uint8Array.from([...noise, ...new Uint8Array(90_000)])]) {
      const deflated = other.deflate(text, testKey());
      expect(hexOf(own.inflate(deflated, text.length, testKey()))).toBe(bytesToHex(text));
    }
  });

  test("[RC14] refuses a stream of another size, cut short, with bytes behind it, or that is none", () => {
    fc.assert(
      fc.property(anyText, anyDictionary, fc.nat(), fc.uint8Array({ minLength: 1 }), (text, dictionary, at, more) => {
        const deflated = other.deflate(text, dictionary);
        for (const size of [text.length + 1, text.length - 1, 0, 2 * text.length + 300]) {
          if (size >= 0 && size !== text.length) expect(own.inflate(deflated, size, dictionary)).toBeUndefined();
        }
        const cut = deflated.subarray(0, at % deflated.length);
        expect(own.inflate(cut, text.length, dictionary)).toBeUndefined();
        expect(own.inflate(Uint8Array.from([...deflated, ...more]), text.length, dictionary)).toBeUndefined();
      }),
    );
    expect(own.inflate(Uint8Array.of(7, 7, 7), 3)).toBeUndefined();
    expect(own.inflate(new Uint8Array(0), 0)).toBeUndefined();
  });

  test("[RC14] takes no memory for more than the declared size", () => {
    const bomb = new Uint8Array(deflateRawSync(new Uint8Array(64 * 1024 * 1024)));
    const before = process.memoryUsage().arrayBuffers;
    expect(own.inflate(bomb, 1000)).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });

  test("[RC14] hashes as the other does", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(hexOf(own.sha256(text))).toBe(hexOf(other.sha256(text)));
      }),
    );
  });

  test("[RC14] gives bytes of its own, as Yjs takes them", () => {
    const [key, nonce, text] = [testKey(), testKey().subarray(0, 24), testKey(9)];
    const sealed = own.seal(key, nonce, text, text);
    const deflated = own.deflate(text);
    for (const result of [
      own.randomBytes(24),
      sealed,
      own.open(key, nonce, sealed, text),
      deflated,
      own.inflate(deflated, text.length),
      own.sha256(text),
    ]) {
      expect(result?.constructor).toBe(Uint8Array);
      // Not a view into a pool that others write to.
      expect(result?.buffer.byteLength).toBeLessThan(64);
    }
  });

  test("[RC6] nonces differ, those of one draw and of several", () => {
    const pool = new NoncePool(own);
    const nonces = Array.from({ length: 200 }, () => pool.take());
    expect(nonces.every((nonce) => nonce.length === 24)).toBe(true);
    expect(new Set(nonces.map(bytesToHex)).size).toBe(200);
  });
});
