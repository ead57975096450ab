import type { SessionCursor, WorkspaceSession } from "@coppice/client";
import { describe, expect, it } from "vitest";
import { suggestDeviceName } from "../src/home/device-name.ts";
import { describePresence } from "../src/sessions/describe-presence.ts";
import { describeAge } from "../src/sessions/describe-time.ts";
import { arrangeSessions, listRecent, titleOf } from "../src/sessions/list-sessions.ts";

function makeSession(id: string, fields: Partial<WorkspaceSession> = {}): WorkspaceSession {
  return {
    id,
    createdAt: "2026-01-01T00:00:00.000Z",
    archived: false,
    deleted: false,
    keyId: "00",
    olderKeyIds: [],
    roomId: id,
    needsUpgrade: false,
    ...fields,
  };
}

const sessions = [
  makeSession("quiet", { name: "Quiet", gitRemote: "git@github.com:a/b.git" }),
  makeSession("busy", { name: "Fix the login", gitRemote: "https://github.com/a/b", lastActivityAt: 3e12 }),
  makeSession("folder", { cwd: "/home/me/notes", lastActivityAt: 2e12 }),
  makeSession("nowhere", { cwd: "", lastActivityAt: 4e12 }),
];

describe("the list of sessions", () => {
  it("[WB6] stands by project, the most active first", () => {
    const groups = arrangeSessions(sessions, "");
    expect(groups.map(({ project, sessions: grouped }) => [project, ...grouped.map(({ id }) => id)])).toEqual([
      [undefined, "nowhere"],
      ["/home/me/notes", "folder"],
      ["github.com/a/b", "busy", "quiet"],
    ]);
  });

  it.each([
    ["login github", ["busy"]],
    ["LOGIN  fix", ["busy"]],
    ["notes", ["folder"]],
    ["login notes", []],
    ["  ", ["nowhere", "folder", "busy", "quiet"]],
  ])("[WB6] a search for %j finds %j", (search, ids) => {
    expect(arrangeSessions(sessions, search).flatMap(({ sessions: found }) => found.map(({ id }) => id))).toEqual(ids);
  });

  it("[WB6] a session without a name goes by the end of its id", () => {
    expect(titleOf({ id: "0194c0de-0000-7000-8000-0123456789ab" })).toBe("Session 456789ab");
    expect(titleOf({ id: "x", name: "  " })).toBe("Session x");
    expect(titleOf({ id: "x", name: " Login " })).toBe("Login");
  });

  it("[WB8] the most active ones are open", () => {
    expect([...listRecent(sessions, 2)]).toEqual(["nowhere", "busy"]);
  });

  it("[WB8] says which other devices have a session open, each once, and where an agent runs", () => {
    const cursor = (deviceId: string, fields: Partial<SessionCursor> = {}): SessionCursor => ({
      deviceId,
      replicaId: "r",
      leafId: null,
      self: false,
      sameDevice: false,
      deviceName: deviceId,
      ...fields,
    });
    expect(describePresence([cursor("me", { self: true, sameDevice: true })])).toBeUndefined();
    const cursors = [cursor("phone"), cursor("desk"), cursor("desk", { running: true }), cursor("desk")];
    expect(describePresence(cursors)).toBe("open on desk (agent running) and phone");
  });

  it.each([
    [0, "just now"],
    [-5_000, "just now"],
    [59_000, "just now"],
    [61_000, "1 minute ago"],
    [3_600_000 * 5, "5 hours ago"],
    [86_400_000, "yesterday"],
    [86_400_000 * 800, "2 years ago"],
  ])("[WB6] what was %d ms ago was %s", (age, words) => {
    expect(describeAge(1e12 - age, 1e12)).toBe(words);
  });

  it.each([
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1",
      "Safari on iPhone",
    ],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
    ["Mozilla/5.0 (Windows NT 10.0) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on Windows"],
    ["Mozilla/5.0 (Linux; Android 15) Chrome/140.0.0.0 Mobile Safari/537.36", "Chrome on Android"],
    ["something new", "Browser"],
  ])("[WB1] of %j it suggests the name %s", (userAgent, name) => {
    expect(suggestDeviceName(userAgent)).toBe(name);
  });
});
