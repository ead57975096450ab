import { describe, expect, it } from "vitest";
import { completeCommand, describeCommands, parseCommand } from "../src/command-words.ts";
import type { MirrorStatus } from "../src/protocol.ts";
import { describePhase, type SyncPhase } from "../src/sync-phase.ts";

const mirroring = (status: Partial<MirrorStatus>): SyncPhase => ({
  kind: "mirroring",
  status: { sessionId: "s", relay: "live", waiting: 0, devices: 1, runners: [], ...status },
});

describe("the status line", () => {
  it.each<[SyncPhase, string]>([
    [{ kind: "off" }, "coppice: off"],
    [{ kind: "paused" }, "coppice: paused"],
    [{ kind: "waiting" }, "coppice: on · nothing to share yet"],
    [{ kind: "starting" }, "coppice: starting"],
    [{ kind: "asking" }, "coppice: not shared yet · waiting for your answer"],
    [{ kind: "importing", entries: 1 }, "coppice: taking in · 1 entry"],
    [{ kind: "mirroring" }, "coppice: starting"],
    [mirroring({ devices: 2 }), "coppice: live · 2 devices · 0 waiting"],
    [
      mirroring({ devices: 2, runners: [{ replicaId: "r", deviceName: "laptop", sameDevice: false }] }),
      "coppice: live · 2 devices · 0 waiting · an agent runs on laptop",
    ],
    [mirroring({ waiting: 3, reason: "too large" }), "coppice: too large · 3 waiting"],
    [mirroring({ relay: "offline", waiting: 3 }), "coppice: offline · 3 waiting"],
    [mirroring({ relay: "connecting" }), "coppice: connecting · 0 waiting"],
    [mirroring({ relay: "catching-up", waiting: 1 }), "coppice: fetching · 1 waiting"],
    [
      mirroring({ relay: "refused", waiting: 1, reason: "sign in again" }),
      "coppice: refused: sign in again · 1 waiting",
    ],
    [mirroring({ relay: "none" }), "coppice: saved on this device · no relay"],
    [{ kind: "failed", reason: "the disk is full", isFinal: false }, "coppice: the disk is full · trying again"],
    [{ kind: "failed", reason: "it was deleted", isFinal: true }, "coppice: it was deleted"],
  ])("[EX30] %j is %s", (phase, text) => {
    expect(describePhase(phase)).toBe(text);
  });
});

describe("/coppice", () => {
  it.each([
    ["", { words: "", argument: "" }],
    [" on ", { words: "on", argument: "" }],
    ["on  project", { words: "on project", argument: "" }],
    ["off project", { words: "off project", argument: "" }],
    ["open", { words: "open", argument: "" }],
    ["open flaky test", { words: "open", argument: "flaky test" }],
    ["on projects", undefined],
    ["pause now", undefined],
    ["opened", undefined],
  ])("[EX31] %j is read as %j", (typed, command) => {
    expect(parseCommand(typed)).toEqual(command);
  });

  it("[EX31] what was begun is completed, and the help lists every command", () => {
    expect(completeCommand("o")?.map(({ value }) => value)).toEqual(["on", "on project", "off", "off project", "open"]);
    expect(completeCommand("on ")?.map(({ value }) => value)).toEqual(["on project"]);
    expect(completeCommand("x")).toBeNull();
    // Enter runs what is whole, instead of choosing it first.
    expect(completeCommand("on")).toBeNull();
    const help = describeCommands().split("\n");
    expect(help).toHaveLength((completeCommand("")?.length ?? 0) + 1);
    expect(help).toContainEqual(expect.stringMatching(/^\/coppice open \[SESSION\] {2,}go on/));
  });
});
