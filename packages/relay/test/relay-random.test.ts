import fc from "fast-check";
import { expect, test } from "vitest";
import * as Y from "yjs";
import type { RawClient } from "./raw-client.ts";
import { startRelay } from "./relay-fixture.ts";
import { firstBytesOf, recordsOf, Writer } from "./writer.ts";

const writerCount = 3;
const arbitraryStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("push" as const), writer: fc.nat({ max: writerCount - 1 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("merge" as const),
      writer: fc.nat({ max: writerCount - 1 }),
      from: fc.nat({ max: writerCount - 1 }),
    }),
  },
);

/** What happens to an update between its writer and the relay. */
const arbitraryFate = fc.constantFrom(
  "sent",
  "sent",
  "sent",
  "lost",
  "twice",
  "late",
  "by another",
  "with the one before",
);

test("[RL8] [RL9] [RL10] [RL11] [RL17] updates lost, doubled, late, merged or sent by others: after healing everybody has everything, in an order in which nothing waits", async () => {
  let gapsAsked = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryStep, { minLength: 5, maxLength: 40 }),
      fc.infiniteStream(arbitraryFate),
      async (steps, fates) => {
        const { raw, follower, relay } = await startRelay({ maxRecentBytes: 100, gapBackoffMs: 0 });
        const writers = Array.from({ length: writerCount }, (_, index) => new Writer(10 * (index + 1)));
        const senders = await Promise.all(writers.map(() => raw("room")));
        const reader = await follower("room");
        const late: Array<() => void> = [];
        let written = 0;
        for (const step of steps) {
          const writer = writers[step.writer] as Writer;
          if (step.kind === "merge") {
            writer.merge((writers[step.from] as Writer).doc);
            continue;
          }
          written += 1;
          const update = writer.push([written]);
          const sender = senders[step.writer] as RawClient;
          const other = senders[(step.writer + 1) % writerCount] as RawClient;
          switch (fates.next().value) {
            case "lost":
              break;
            case "twice":
              sender.sendUpdate(update);
              other.sendUpdate(update);
              break;
            case "late":
              late.push(() => sender.sendUpdate(update));
              break;
            case "by another":
              other.sendUpdate(update);
              break;
            case "with the one before":
              sender.sendUpdate(Y.mergeUpdates(writer.updates.slice(-3)));
              break;
            default:
              sender.sendUpdate(update);
          }
          if (written % 7 === 0) await sender.barrier();
        }
        for (const send of late.reverse()) send();
        await Promise.all(senders.map((sender) => sender.barrier()));
        for (const { received } of senders) gapsAsked += received.filter(({ type }) => type === "syncStep1").length;
        writers.forEach((writer, index) => {
          (senders[index] as RawClient).send({ type: "syncStep2", update: writer.state() });
        });
        const doc = new Y.Doc();
        while (recordsOf(doc).length < written) {
          Y.applyUpdate(doc, await reader.takeUpdate());
          expect(doc.store.pendingStructs).toBeNull();
        }
        expect(firstBytesOf(doc).toSorted((left, right) => left - right)).toEqual(
          Array.from({ length: written }, (_, index) => index + 1),
        );
        expect(reader.received.filter(({ type }) => type === "update").length).toBeLessThanOrEqual(written);
        await relay.close();
      },
    ),
    { numRuns: Number(process.env.SIM_RUNS ?? 30), ...seedFromEnvironment() },
  );
  expect(gapsAsked).toBeGreaterThan(0);
});

/** A failed run is repeated with the seed it printed. */
function seedFromEnvironment(): { seed?: number } {
  const seed = process.env.SIM_SEED;
  return seed === undefined ? {} : { seed: Number(seed) };
}
