import fc from "fast-check";
import * as Y from "yjs";

/** What happens in an honest history: a device appends, or takes over what another one has. */
export type HistoryStep =
  | { readonly kind: "push"; readonly device: number; readonly bytes: number }
  | { readonly kind: "pull"; readonly device: number; readonly from: number };

const deviceCount = 4;
const device = fc.nat({ max: deviceCount - 1 });

/** Histories of four devices that append and meet in any order. */
export const arbitraryHistory: fc.Arbitrary<HistoryStep[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("push" as const), device, bytes: fc.nat({ max: 40 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("pull" as const), device, from: device }) },
  ),
  { minLength: 1, maxLength: 40 },
);

/** Plays a history with stock Yjs. Gives every live update in order of happening and one document that has it all. */
export function playHistory(steps: readonly HistoryStep[], clientIds: readonly number[]) {
  const updates: Uint8Array[] = [];
  const docs = Array.from({ length: deviceCount }, (_, index) => {
    const doc = new Y.Doc();
    doc.clientID = clientIds[index] ?? index + 1;
    doc.on("update", (update: Uint8Array, origin: unknown) => {
      if (origin !== "pull") updates.push(update);
    });
    return doc;
  });
  const docOf = (index: number): Y.Doc => docs[index] as Y.Doc;
  let written = 0;
  for (const step of steps) {
    if (step.kind === "pull") Y.applyUpdate(docOf(step.device), Y.encodeStateAsUpdate(docOf(step.from)), "pull");
    else {
      written += 1;
      docOf(step.device)
        .getArray("entries")
        .push([new Uint8Array(step.bytes).fill(written)]);
    }
  }
  const merged = new Y.Doc();
  for (const doc of docs) Y.applyUpdate(merged, Y.encodeStateAsUpdate(doc), "pull");
  return { updates, merged, written };
}

/** Client ids whose order is random, so that origins point to earlier and later sections alike. */
export const arbitraryClientIds: fc.Arbitrary<number[]> = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 32 - 1 }), {
  minLength: deviceCount,
  maxLength: deviceCount,
});

/** All records of a document in log order. */
export const readRecords = (doc: Y.Doc): unknown[] => doc.getArray("entries").toArray();
