/**
 * Text as bytes, so that every JavaScript string survives. Well-formed text is plain UTF-8. An unpaired surrogate,
 * which UTF-8 has no place for and `TextEncoder` silently replaces, is written as the three bytes its code point would
 * have (generalized UTF-8, "WTF-8"): agents cut names and labels in the middle of an emoji, and two such ids must not
 * become one.
 */

// Both are in every browser and in Node; the compiler's plain ES library does not know them.
declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new (
  label: "utf-8",
  options: { fatal: true; ignoreBOM: true },
) => { decode(bytes: Uint8Array): string };

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const unpairedSurrogate = /\p{Surrogate}/u;

/** The bytes of a text: UTF-8, an unpaired surrogate as three bytes. Every string has exactly one encoding. */
export function encodeText(text: string): Uint8Array {
  return unpairedSurrogate.test(text) ? encodeGeneralized(text) : utf8Encoder.encode(text);
}

/** The text of bytes written by `encodeText`; undefined for any other bytes. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8Decoder.decode(bytes);
  } catch {
    // Not well-formed UTF-8: it holds unpaired surrogates, or it is no text at all.
    return decodeGeneralized(bytes);
  }
}

/** Whether two byte strings are the same. */
export function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function encodeGeneralized(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), continuation(point));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), continuation(point >> 6), continuation(point));
    else bytes.push(0xf0 | (point >> 18), continuation(point >> 12), continuation(point >> 6), continuation(point));
  }
  return Uint8Array.from(bytes);
}

function decodeGeneralized(bytes: Uint8Array): string | undefined {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    let point = length === 1 ? lead : lead & (0xff >> (length + 1));
    for (let offset = 1; offset < length; offset++) point = (point << 6) | ((bytes[at + offset] ?? 0) & 0x3f);
    if (point > 0x10ffff) return undefined;
    text += String.fromCodePoint(point);
    at += length;
  }
  // Reading was lenient; writing again shows whether these were the bytes of this text.
  return areBytesEqual(encodeGeneralized(text), bytes) ? text : undefined;
}

function continuation(bits: number): number {
  return 0x80 | (bits & 0x3f);
}
