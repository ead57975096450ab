import { describe, expect, it } from "vitest";
import { judgeLink, type LinkState } from "../src/link-watch.ts";

const timings = { resendAfterMs: 5_000, resyncIntervalMs: 30_000 };
const at = (now: number, more: Partial<LinkState> = {}): LinkState => ({
  now,
  heardAt: now,
  openedAt: now,
  hasAnswered: true,
  failures: 0,
  progressAt: now,
  probedAt: now,
  resentAt: now,
  askedAt: now,
  digestAskedAt: undefined,
  pending: 0,
  isBusy: false,
  countsBytes: true,
  isWaiting: false,
  fruitlessQuestions: 1,
  ...more,
});

describe("judgeLink", () => {
  it.each<[string, Partial<LinkState>, string]>([
    ["all is well", {}, "nothing"],
    ["silent for 6 s", { heardAt: 94_000, probedAt: 94_000 }, "probe"],
    ["silent for 6 s, asked a moment ago", { heardAt: 94_000, probedAt: 99_000 }, "nothing"],
    ["silent for 11 s", { heardAt: 89_000 }, "give_up"],
    ["records unacknowledged for 6 s", { pending: 2, progressAt: 94_000, resentAt: 90_000 }, "resend"],
    ["the same, sent again a moment ago", { pending: 2, progressAt: 94_000, resentAt: 98_000 }, "nothing"],
    ["records unacknowledged for 11 s", { pending: 2, progressAt: 89_000, resentAt: 95_000 }, "give_up"],
    ["no word of the relay 11 s after opening, pings answered", { hasAnswered: false, openedAt: 89_000 }, "give_up"],
    ["the same, after one that waited as long", { hasAnswered: false, openedAt: 89_000, failures: 1 }, "nothing"],
    ["a quiet half minute", { askedAt: 69_000 }, "compare"],
    ["records waiting for others, asked 3 s ago", { isWaiting: true, askedAt: 97_000 }, "ask_missing"],
  ])("[CL6, CL12] %s", (_what, state, verdict) => {
    expect(judgeLink(at(100_000, state), timings)).toBe(verdict);
  });

  it("[CL12] a large record on a slow line is no silence: nothing is sent twice while bytes move", () => {
    const sending = { isBusy: true, pending: 1, progressAt: 50_000, resentAt: 50_000 };
    expect(judgeLink(at(100_000, { ...sending, heardAt: 80_000 }), timings)).toBe("nothing");
    expect(judgeLink(at(100_000, { ...sending, heardAt: 74_000 }), timings)).toBe("give_up");
  });

  it("[CL12] where nobody counts bytes, half a minute passes before silence counts", () => {
    expect(judgeLink(at(100_000, { countsBytes: false, heardAt: 71_000 }), timings)).toBe("nothing");
    expect(judgeLink(at(100_000, { countsBytes: false, heardAt: 69_000 }), timings)).toBe("give_up");
  });

  it.each([
    ["nothing is missing and the socket has pings", true, false, 4],
    ["nothing is missing in a browser", false, false, 4],
    ["records wait for some that are nowhere", true, true, 9],
  ])("[CL43] fewer than 10 messages in an idle minute: %s", (_what, countsBytes, isWaiting, most) => {
    // The relay's beat every 20 s, pongs and answers at once.
    let [heardAt, probedAt, askedAt, fruitlessQuestions] = [0, 0, 0, 1];
    const messageTimes: number[] = [];
    for (let now = 0; now <= 180_000; now += 900) {
      if (now % 20_000 < 900) heardAt = now;
      const verdict = judgeLink(
        at(now, { heardAt, probedAt, askedAt, fruitlessQuestions, countsBytes, isWaiting }),
        timings,
      );
      if (verdict === "nothing") continue;
      heardAt = now;
      if (verdict === "probe" && countsBytes) {
        // A ping is no message.
        probedAt = now;
        continue;
      }
      expect(["compare", "ask_missing", "probe"]).toContain(verdict);
      [askedAt, probedAt] = [now, now];
      if (verdict === "ask_missing") fruitlessQuestions += 1;
      messageTimes.push(now);
    }
    const inMinute = (from: number) => messageTimes.filter((time) => time >= from && time < from + 60_000).length;
    expect(messageTimes.length).toBeGreaterThan(3);
    for (const from of [0, 60_000, 120_000]) expect(inMinute(from)).toBeLessThanOrEqual(most);
  });
});
