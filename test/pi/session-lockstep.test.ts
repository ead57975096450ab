import { buildSessionContext, Session, type SessionEntry, type SessionStorage } from "@coppice/core";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createStorage, storageKinds } from "./coppice-storages.ts";
import { type LockstepCounts, type LockstepOptions, runLockstep } from "./lockstep.ts";
import {
  createCoppiceSubject,
  createPiSubject,
  type Generation,
  generations,
  openPiSession,
  toLockstepSession,
} from "./pi-packages.ts";
import { sharedPlaceMakers } from "./shared-places.ts";
import { attempt, type LockstepSession, type Subject } from "./subject.ts";

const seed = Number(process.env.SIM_SEED ?? 20_261_201);
const steps = 1_000;
const startMs = Date.UTC(2026, 0, 2);

// Entries of both subjects get the same times, so they can be compared to the letter.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

async function createCandidate(kind: string, open: (storage: SessionStorage) => LockstepSession): Promise<Subject> {
  const place = await createStorage(kind);
  onTestFinished(() => place.close());
  return createCoppiceSubject(place, open);
}

async function expectLockstep(
  candidate: Subject,
  generation: Generation,
  options: Partial<LockstepOptions> = {},
): Promise<LockstepCounts> {
  const { id, createdAt } = await candidate.session.getStorage().getMetadata();
  const reference = createPiSubject(generation, { id, createdAt });
  const { difference, counts } = await runLockstep(reference, candidate, {
    seed,
    steps,
    generation,
    beforeStep: (step) => vi.setSystemTime(startMs + step * 1_001),
    ...options,
  });
  expect(difference).toBeUndefined();
  // A walk that went nowhere would prove nothing.
  expect(counts.entries).toBeGreaterThan(steps / 2);
  expect(counts.refusals).toBeGreaterThan(steps / 50);
  expect(counts.moves).toBeGreaterThan(steps / 50);
  expect(counts.contexts).toBeGreaterThan(steps / 2);
  return counts;
}

describe.each(generations)("Session of pi-agent-core %s", (generation) => {
  it.each(storageKinds)("[PI1, PI2] cannot tell Coppice's storage (%s) from pi's own", async (kind) => {
    const candidate = await createCandidate(kind, (storage) => openPiSession(generation, storage));
    await expectLockstep(candidate, generation, {
      // What Coppice makes of a branch is what pi makes of it, also of the shortened one of 0.82.
      afterStep: async ({ context }) => {
        const build = async (): Promise<unknown> =>
          buildSessionContext((await candidate.session.getBranch()) as SessionEntry[], { rules: "harness" });
        expect(candidate.describe(await attempt(build))).toBe(context);
      },
    });
  });

  it.each(Object.keys(sharedPlaceMakers))(
    "[PI1, PI2, YS121] cannot tell Coppice's storage (%s) from pi's own",
    async (kind) => {
      const place = await sharedPlaceMakers[kind]?.();
      if (place === undefined) throw new Error(`no place ${kind}`);
      onTestFinished(() => place.close());
      const candidate = createCoppiceSubject(place, (storage) => openPiSession(generation, storage));
      const { entries } = await expectLockstep(candidate, generation);
      if (kind.includes("foreign")) expect(place.foreignEntries).toBeGreaterThan(entries);
    },
  );
});

it("[PI2] Coppice's own Session does what pi-agent-core 0.80's does", async () => {
  const candidate = await createCandidate("memory", (storage) => toLockstepSession(new Session(storage)));
  await expectLockstep(candidate, "0.80");
});
