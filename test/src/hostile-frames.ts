import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encodeFrame } from "@coppice/wire";
import { bool, int32, type PRNG, uint8Array } from "lib0/prng";
import * as Y from "yjs";

/** Frames as the protocol has them, to be mutated: the golden ones, good and bad, and some that honest clients send. */
export function readSeedFrames(): Uint8Array[] {
  const golden = fileURLToPath(new URL("../../packages/wire/test/golden/", import.meta.url));
  const frames: Uint8Array[] = [];
  for (const { hex } of readCases(`${golden}frames.json`)) frames.push(Uint8Array.from(Buffer.from(hex, "hex")));
  for (const { hex } of readCases(`${golden}updates.json`)) {
    const update = Uint8Array.from(Buffer.from(hex, "hex"));
    frames.push(encodeFrame({ type: "update", update }), encodeFrame({ type: "syncStep2", update }));
  }
  const doc = new Y.Doc();
  for (let client = 500; client < 520; client += 1) {
    doc.clientID = client;
    for (let at = 0; at < 5; at += 1) doc.getArray("entries").push([new Uint8Array(30).fill(at)]);
  }
  frames.push(
    encodeFrame({ type: "syncStep2", update: Y.encodeStateAsUpdate(doc) }),
    encodeFrame({ type: "syncStep1", stateVector: Y.decodeStateVector(Y.encodeStateVector(doc)) }),
    encodeFrame({ type: "awareness", states: [{ client: 500, clock: 3, state: '{"user":{"name":"a"}}' }] }),
    encodeFrame({ type: "ackRequest", version: 1, clients: [500, 501] }),
    encodeFrame({ type: "digest", digest: new Uint8Array(8).fill(7) }),
    encodeFrame({ type: "draft", sealed: new Uint8Array(200).fill(7) }),
    encodeFrame({ type: "deleteRoom", secret: new Uint8Array(32).fill(7) }),
  );
  return frames;
}

function readCases(path: string): { hex: string }[] {
  const { accepted, refused } = JSON.parse(readFileSync(path, "utf8")) as Record<
    "accepted" | "refused",
    { hex: string }[]
  >;
  return [...accepted, ...refused];
}

/** A frame that nobody meant: random bytes, a seed with something changed, or two seeds joined. */
export function createBadFrame(prng: PRNG, seeds: readonly Uint8Array[]): Uint8Array {
  const pick = (): Uint8Array => seeds[int32(prng, 0, seeds.length - 1)] ?? new Uint8Array();
  const kind = int32(prng, 0, 9);
  if (kind === 0) return uint8Array(prng, int32(prng, 0, 80));
  // A message number of the protocol before the random bytes gets further.
  if (kind === 1) return Uint8Array.of(int32(prng, 0, 3), int32(prng, 0, 2), ...uint8Array(prng, int32(prng, 0, 60)));
  if (kind === 2) {
    const [head, tail] = [pick(), pick()];
    return Uint8Array.from([
      ...head.subarray(0, int32(prng, 0, head.length)),
      ...tail.subarray(int32(prng, 0, tail.length)),
    ]);
  }
  const frame = [...pick()];
  for (let left = int32(prng, 1, 4); left > 0 && frame.length > 0; left -= 1) {
    const at = int32(prng, 0, frame.length - 1);
    const change = int32(prng, 0, 4);
    if (change === 0) frame[at] = (frame[at] ?? 0) ^ (1 << int32(prng, 0, 7));
    else if (change === 1) frame[at] = bool(prng) ? 255 : int32(prng, 0, 255);
    else if (change === 2) frame.splice(at, 0, int32(prng, 0, 255));
    else if (change === 3) frame.splice(at, int32(prng, 1, 3));
    else frame.splice(at, 0, ...frame.slice(at, at + int32(prng, 1, 20)));
  }
  return Uint8Array.from(frame);
}
