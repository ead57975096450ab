import type { SyncStatus } from "@coppice/client";
import { describe, expect, it } from "vitest";
import { describeStatus, isAtRisk, type StatusSurroundings } from "../src/status/describe-status.ts";

const well: SyncStatus = { local: { state: "saved" }, relay: { state: "live" }, unsaved: 0, pending: 0 };
const offline = { state: "offline", reason: "the relay cannot be reached" } as const;
const again = "It is tried again by itself.";

describe("the words for a status", () => {
  it.each<[Partial<SyncStatus>, Partial<StatusSurroundings>, string, string?]>([
    [{}, {}, "good: Saved here · at the relay"],
    [{ pending: 1 }, {}, "busy: Saved here · sending · 1 waiting"],
    [{ local: { state: "saving" }, unsaved: 2 }, {}, "busy: Saving here · at the relay"],
    [{ relay: { state: "connecting" } }, {}, "busy: Saved here · connecting"],
    [{ relay: { state: "catching-up", arrived: 0, total: 0 } }, {}, "busy: Saved here · fetching"],
    [{ relay: { state: "catching-up", arrived: 40, total: 1200 } }, {}, "busy: Saved here · fetching 40 of 1,200"],
    [{ relay: { state: "offline" } }, {}, "warning: Saved here · offline", again],
    [
      { relay: offline, pending: 1234 },
      {},
      "warning: Saved here · offline · 1,234 waiting",
      `The relay cannot be reached. ${again}`,
    ],
    [
      { relay: offline },
      { isBlocked: true },
      "warning: Saved here · offline",
      "This page may connect to the relay that serves it alone. Open the app at the workspace's relay, or with `coppice web`.",
    ],
    [
      { relay: { state: "refused", code: 4410, reason: "the session was deleted" }, pending: 2 },
      {},
      "danger: Saved here · refused · 2 waiting",
      "The relay refuses: the session was deleted.",
    ],
    [
      { relay: { state: "too-old", reason: "The relay is older than this app." } },
      {},
      "danger: Saved here · upgrade needed",
      "The relay is older than this app.",
    ],
    [
      { pending: 3, notice: { code: 4413, reason: "too large" } },
      {},
      "danger: Saved here · not taken · 3 waiting",
      "The relay did not take it: too large.",
    ],
    [
      { local: { state: "failed", cause: "write", reason: "the disk is full" }, unsaved: 1 },
      {},
      "danger: Not saved here · at the relay",
      `The disk is full. ${again}`,
    ],
    [
      { local: { state: "failed", cause: "read", reason: "closed" } },
      {},
      "danger: Cannot be read here · at the relay",
      `Closed. ${again}`,
    ],
    [
      {},
      { notKept: "a private window" },
      "warning: Not saved here · at the relay",
      "This browser keeps nothing: a private window.",
    ],
    [
      { relay: { state: "offline" } },
      { hasRelay: false },
      "quiet: Saved here · no relay",
      "This workspace has no relay, so it is on this device alone.",
    ],
  ])("[WB10] %j with %j: %s", (status, surroundings, words, reason) => {
    const described = describeStatus({ ...well, ...status }, { hasRelay: true, ...surroundings });
    expect(`${described.tone}: ${described.here} · ${described.relay}`).toBe(words);
    expect(described.reason).toBe(reason);
  });

  it("[WB11] leaving is a risk when something is nowhere durable", () => {
    expect(isAtRisk(well, undefined)).toBe(false);
    expect(isAtRisk({ ...well, pending: 3 }, undefined)).toBe(false);
    expect(isAtRisk({ ...well, unsaved: 1 }, undefined)).toBe(true);
    expect(isAtRisk(well, "a private window")).toBe(false);
    expect(isAtRisk({ ...well, pending: 3 }, "a private window")).toBe(true);
  });
});
