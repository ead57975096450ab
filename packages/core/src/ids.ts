/** Where the ids of one source get their time and randomness. */
export interface UuidV7Options {
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: () => number;
  /** Fills the whole array with random bytes; default the platform's cryptographic generator. */
  readonly fillRandom?: (bytes: Uint8Array) => void;
}

/** A function that returns a new id at each call. */
export type IdSource = () => string;

/** The Web Crypto generator of browsers and Node, named here because core is typed without either. */
declare const crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };

const COUNTER_LIMIT = 2 ** 32;

/**
 * Makes a source of UUIDv7 ids (RFC 9562, section 6.2 method 2): 48 bits of milliseconds, a 32-bit counter that starts
 * at random in each millisecond, 42 random bits. Ids of one source grow strictly, also when the clock steps back;
 * ids of different sources do not collide in practice, which is what devices that write offline need.
 */
export function createUuidV7Source(options: UuidV7Options = {}): IdSource {
  const now = options.now ?? Date.now;
  const fillRandom = options.fillRandom ?? ((bytes) => crypto.getRandomValues(bytes));
  let lastMs = -1;
  let counter = 0;

  return () => {
    const bytes = new Uint8Array(16);
    fillRandom(bytes);
    const nowMs = now();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = new DataView(bytes.buffer).getUint32(0);
    } else if (++counter === COUNTER_LIMIT) {
      lastMs++;
      counter = 0;
    }
    return formatUuidV7(lastMs, counter, bytes);
  };
}

/** Makes one UUIDv7. Ids made by separate calls within a millisecond are in no order; see `createUuidV7Source`. */
export function createUuidV7(options: UuidV7Options = {}): string {
  return createUuidV7Source(options)();
}

/** Lays time and counter over the random bytes: 48 bits time, version, 12 + 20 bits counter around the variant. */
function formatUuidV7(timeMs: number, counter: number, random: Uint8Array): string {
  const bytes = random.slice();
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(timeMs / 2 ** 32));
  view.setUint32(2, timeMs % 2 ** 32);
  view.setUint16(6, 0x7000 | (counter >>> 20));
  view.setUint16(8, 0x8000 | ((counter >>> 6) & 0x3fff));
  view.setUint8(10, ((counter & 0x3f) << 2) | (view.getUint8(10) & 0x03));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
