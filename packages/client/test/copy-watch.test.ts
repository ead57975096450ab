import { expect, test } from "vitest";
import { CopyWatch } from "../src/copy-watch.ts";

/** A watch of a replica that was opened later than all others, whose change of id ends when it is told to. */
function openWatch(): { watch: CopyWatch; changes: () => number; letChange: () => void } {
  let changes = 0;
  let letChange = (): void => {};
  const watch = new CopyWatch({
    replicaId: "9",
    isRegistered: async () => false,
    onCopy: () => {
      changes += 1;
      return new Promise((resolve) => {
        letChange = resolve;
      });
    },
    onError: (error) => {
      throw error;
    },
    graceMs: 60_000,
  });
  return { watch, changes: () => changes, letChange: () => letChange() };
}

test("[WS22] a copy that is seen in several sessions while the id changes leads to one new id, not to several", async () => {
  const { watch, changes, letChange } = openWatch();
  let isShown = true;
  const first = watch.check("1", () => isShown);
  while (changes() === 0) await Promise.resolve();
  // The same replica in a session that has not heard of the new id yet, and another one of that folder.
  await Promise.all([watch.check("1", () => isShown), watch.check("2", () => isShown)]);
  expect(changes()).toBe(1);
  isShown = false;
  letChange();
  await first;
  await watch.check("1", () => isShown);
  expect(changes()).toBe(1);
  isShown = true;
  const again = watch.check("3", () => isShown);
  while (changes() === 1) await Promise.resolve();
  letChange();
  await again;
  expect(changes()).toBe(2);
  watch.close();
});
