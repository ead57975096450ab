/**
 * Opened payloads, the ones used last, up to a number of bytes: a context reads the same path after every turn, and a
 * session may be larger than memory.
 */
export class PayloadCache<Key, Payload> {
  readonly #maxBytes: number;
  /** In order of use: a map keeps the order of insertion. */
  readonly #slotsByKey = new Map<Key, { payload: Payload; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: Key): Payload | undefined {
    const slot = this.#slotsByKey.get(key);
    if (slot === undefined) return undefined;
    this.#slotsByKey.delete(key);
    this.#slotsByKey.set(key, slot);
    return slot.payload;
  }

  /** Keeps a payload that took so many bytes to store; one that is larger than the whole cache is not kept and costs no other its place. */
  set(key: Key, payload: Payload, bytes: number): void {
    this.#bytes -= this.#slotsByKey.get(key)?.bytes ?? 0;
    this.#slotsByKey.delete(key);
    if (bytes > this.#maxBytes) return;
    this.#bytes += bytes;
    this.#slotsByKey.set(key, { payload, bytes });
    for (const [oldestKey, oldest] of this.#slotsByKey) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#slotsByKey.delete(oldestKey);
      this.#bytes -= oldest.bytes;
    }
  }
}
