import type { AwarenessState } from "@coppice/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Awareness, applyAwarenessUpdate, encodeAwarenessUpdate } from "y-protocols/awareness";
import * as Y from "yjs";
import { ForeignStates } from "../src/foreign-states.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const own = { place: "mine" };
const forged = { place: "forged" };

function openAwareness(): Awareness {
  const awareness = new Awareness(new Y.Doc());
  awareness.setLocalState(own);
  return awareness;
}

const say = (client: number, clock: number, state: object | null): AwarenessState => ({
  client,
  clock,
  state: JSON.stringify(state),
});

/** What a stock client does with this awareness's state. */
function tell(from: Awareness, to: Awareness): void {
  applyAwarenessUpdate(to, encodeAwarenessUpdate(from, [from.clientID]), "test");
}

describe("ForeignStates", () => {
  it("[CU6] F78: a state under the own client id is not taken, which stock awareness would do", () => {
    const [victim, stock] = [openAwareness(), openAwareness()];
    const forger = new Awareness(new Y.Doc());
    forger.clientID = stock.clientID;
    forger.meta.set(stock.clientID, { clock: 1_000, lastUpdated: 0 });
    forger.setLocalState(forged);
    tell(forger, stock);
    expect(stock.getLocalState()).toEqual(forged);
    new ForeignStates(victim).apply([say(victim.clientID, 1_000, forged)], "test");
    expect(victim.getLocalState()).toEqual(own);
  });

  it("[CU6] F77: who was removed or moved by a stranger shows himself again to all who believed it", () => {
    for (const state of [null, forged]) {
      const [victim, other] = [openAwareness(), openAwareness()];
      const foreign = new ForeignStates(victim);
      tell(victim, other);
      const lie = say(victim.clientID, 50, state);
      new ForeignStates(other).apply([lie], "test");
      expect(other.getStates().get(victim.clientID)).toEqual(state ?? undefined);
      foreign.apply([lie], "test");
      vi.advanceTimersByTime(1);
      tell(victim, other);
      expect(other.getStates().get(victim.clientID)).toEqual(own);
    }
  });

  it("[CU6] contradicts a flood of lies at once, then once a second, and never after close", () => {
    const victim = openAwareness();
    const foreign = new ForeignStates(victim);
    let shown = 0;
    victim.on("update", () => shown++);
    for (let clock = 10; clock < 910; clock++) {
      foreign.apply([say(victim.clientID, clock, null)], "test");
      vi.advanceTimersByTime(2);
    }
    expect(shown).toBe(2);
    foreign.apply([say(victim.clientID, 5_000, null)], "test");
    foreign.close();
    vi.advanceTimersByTime(5_000);
    expect(shown).toBe(2);
  });

  it("[CU6] an echo of the own state is no lie, nor is an old one", () => {
    const victim = openAwareness();
    victim.setLocalState({ place: "older" });
    victim.setLocalState(own);
    const foreign = new ForeignStates(victim);
    let shown = 0;
    victim.on("update", () => shown++);
    foreign.apply([say(victim.clientID, 9, own), say(victim.clientID, 1, { place: "older" })], "test");
    vi.advanceTimersByTime(5_000);
    expect(shown).toBe(0);
  });

  it("[CU6] the largest clock a frame carries leaves room for the own clock to grow", () => {
    const victim = openAwareness();
    new ForeignStates(victim).apply([say(victim.clientID, Number.MAX_SAFE_INTEGER, null)], "test");
    vi.advanceTimersByTime(1);
    expect(victim.meta.get(victim.clientID)?.clock).toBeLessThan(2 ** 32);
  });

  it("[CU7] of 20,000 invented client ids a bounded number is kept, and none once they are gone", () => {
    const awareness = openAwareness();
    const foreign = new ForeignStates(awareness);
    const all = Array.from({ length: 20_000 }, (_, at) => at + 1);
    for (let at = 0; at < all.length; at += 100)
      foreign.apply(
        all.slice(at, at + 100).map((client) => say(client, 1, forged)),
        "test",
      );
    expect(awareness.getStates().size).toBeLessThanOrEqual(4_096);
    foreign.apply(
      all.map((client) => say(client, 2, null)),
      "test",
    );
    expect([...awareness.getStates()]).toEqual([[awareness.clientID, own]]);
    for (let at = 0; at < all.length; at += 100) {
      const some = all.slice(at, at + 100);
      for (const state of [forged, null])
        foreign.apply(
          some.map((client) => say(client + 100_000, 3, state)),
          "test",
        );
    }
    expect(awareness.meta.size).toBeLessThanOrEqual(2 * 4_096 + 100);
  });

  it("[CU4] F72: a state that is not renewed for 30 s is gone, one that is renewed stays", () => {
    const [awareness, renewing] = [openAwareness(), openAwareness()];
    new ForeignStates(awareness).apply([say(7, 1, forged)], "test");
    renewing.on("update", () => tell(renewing, awareness));
    tell(renewing, awareness);
    // The library has read the clock before a test could replace it, so what it noted is made older instead.
    const age = (ms: number): void => {
      for (const { meta } of [awareness, renewing]) for (const entry of meta.values()) entry.lastUpdated -= ms;
    };
    for (const ageMs of [16_000, 16_000]) {
      expect(awareness.getStates().has(7)).toBe(true);
      age(ageMs);
      vi.advanceTimersByTime(6_000);
    }
    expect(awareness.getStates().has(7)).toBe(false);
    expect(awareness.getStates().get(renewing.clientID)).toEqual(own);
  });
});
