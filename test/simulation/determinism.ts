/*
 * Makes this process deterministic; imported before anything that keeps a reference to the clock or to the generator of
 * random numbers at its own import, which lib0 (and with it Yjs) does with both.
 */
import { VirtualTime } from "@coppice/testkit/simulation";
import { create, type PRNG, real53, uint32 } from "lib0/prng";

/** The one clock of all simulated processes. */
export const time: VirtualTime = VirtualTime.start();

let generator = create(0);

/** From here on every random byte of the process (ids, nonces, Yjs client ids) follows from the seed. */
export function seedRandomness(seed: number): void {
  generator = create(seed);
}

/** A number from 0 to 1 of the seeded generator, for what a device leaves to chance. */
export function drawRandom(): number {
  return real53(generator);
}

/** Fills with bytes of the seeded generator, as Web Crypto's function of this name does with better ones. */
function getRandomValues<T extends ArrayBufferView>(array: T): T {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = uint32(generator, 0, 255);
  return array;
}

Object.defineProperty(globalThis.crypto, "getRandomValues", { value: getRandomValues });

/** A generator for the run's own choices, apart from the process's random bytes. */
export function createChoices(seed: number): PRNG {
  return create(seed);
}
