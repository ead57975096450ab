import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encodeFrame } from "@coppice/wire";
import { bool, int32, type PRNG, uint8Array } from "lib0/prng";
import * as Y from "yjs";

/** What is mutated: as the protocol has it, the golden ones, good and bad, and what honest clients send. */
export interface Seeds {
  readonly frames: readonly Uint8Array[];
  /** Mutated before they are put into a frame, so that the frame is good and what it holds is not. */
  readonly updates: readonly Uint8Array[];
}

export function readSeeds(): Seeds {
  const golden = fileURLToPath(new URL("../../packages/wire/test/golden/", import.meta.url));
  const read = (file: string): Uint8Array[] =>
    readCases(`${golden}${file}`).map(({ hex }) => Uint8Array.from(Buffer.from(hex, "hex")));
  const frames = read("frames.json");
  const updates = read("updates.json");
  const doc = new Y.Doc();
  for (let client = 500; client < 520; client += 1) {
    doc.clientID = client;
    for (let at = 0; at < 5; at += 1) doc.getArray("entries").push([new Uint8Array(30).fill(at)]);
  }
  updates.push(Y.encodeStateAsUpdate(doc));
  frames.push(
    encodeFrame({ type: "syncStep2", update: Y.encodeStateAsUpdate(doc) }),
    encodeFrame({ type: "syncStep1", stateVector: Y.decodeStateVector(Y.encodeStateVector(doc)) }),
    encodeFrame({ type: "awareness", states: [{ client: 500, clock: 3, state: '{"user":{"name":"a"}}' }] }),
    encodeFrame({ type: "ackRequest", version: 1, clients: [500, 501] }),
    encodeFrame({ type: "digest", digest: new Uint8Array(8).fill(7) }),
    encodeFrame({ type: "draft", sealed: new Uint8Array(200).fill(7) }),
    encodeFrame({ type: "deleteRoom", secret: new Uint8Array(32).fill(7) }),
  );
  return { frames, updates };
}

function readCases(path: string): { hex: string }[] {
  const { accepted, refused } = JSON.parse(readFileSync(path, "utf8")) as Record<
    "accepted" | "refused",
    { hex: string }[]
  >;
  return [...accepted, ...refused];
}

/** A frame that nobody meant: random bytes, two seeds joined, a frame with something changed, or an update with something changed in a good frame. */
export function createBadFrame(prng: PRNG, { frames, updates }: Seeds): Uint8Array {
  const pick = (seeds: readonly Uint8Array[]): Uint8Array =>
    seeds[int32(prng, 0, seeds.length - 1)] ?? new Uint8Array();
  const kind = int32(prng, 0, 19);
  if (kind === 0) return uint8Array(prng, int32(prng, 0, 80));
  // A message number of the protocol before the random bytes gets further.
  if (kind === 1) return Uint8Array.of(int32(prng, 0, 3), int32(prng, 0, 2), ...uint8Array(prng, int32(prng, 0, 60)));
  if (kind === 2) {
    const [head, tail] = [pick(frames), pick(frames)];
    return Uint8Array.from([
      ...head.subarray(0, int32(prng, 0, head.length)),
      ...tail.subarray(int32(prng, 0, tail.length)),
    ]);
  }
  if (kind < 8) return mutate(prng, pick(frames));
  return encodeFrame({ type: bool(prng) ? "update" : "syncStep2", update: mutate(prng, pick(updates)) });
}

function mutate(prng: PRNG, seed: Uint8Array): Uint8Array {
  const bytes = [...seed];
  for (let left = int32(prng, 1, 3); left > 0 && bytes.length > 0; left -= 1) {
    const at = int32(prng, 0, bytes.length - 1);
    const change = int32(prng, 0, 4);
    if (change === 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << int32(prng, 0, 7));
    else if (change === 1) bytes[at] = bool(prng) ? 255 : int32(prng, 0, 255);
    else if (change === 2) bytes.splice(at, 0, int32(prng, 0, 255));
    else if (change === 3) bytes.splice(at, int32(prng, 1, 3));
    else bytes.splice(at, 0, ...bytes.slice(at, at + int32(prng, 1, 20)));
  }
  return Uint8Array.from(bytes);
}
