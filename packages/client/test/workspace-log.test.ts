import { deriveWorkspaceRoom, RecordCodec, RecordLog } from "@coppice/storage-yjs";
import { describe, expect, it } from "vitest";
import * as Y from "yjs";
import { nameOf } from "../src/workspace-listing.ts";
import { WorkspaceLog } from "../src/workspace-log.ts";
import type { SessionRecord } from "../src/workspace-records.ts";

const keys = deriveWorkspaceRoom(new Uint8Array(32).fill(3));
const codec = new RecordCodec({ sessionId: "workspace", keys });

function open(deviceId: string, doc = new Y.Doc()): { doc: Y.Doc; log: WorkspaceLog; changes: () => number } {
  let count = 0;
  const log = new WorkspaceLog(doc, {
    keys,
    deviceId,
    onChange: () => {
      count += 1;
    },
  });
  return { doc, log, changes: () => count };
}

/** Appends texts as another program with the key would, from this `n` on. */
function appendJsons(doc: Y.Doc, jsons: readonly string[], n = 1): void {
  const foreign = new RecordLog(doc, () => undefined);
  const fields = { parentId: null, type: "workspace_session", timestamp: "t", deviceId: "d" };
  foreign.append(jsons.map((json, at) => codec.prepareRecord({ ...fields, id: `x${n + at}`, n: n + at, json })));
  foreign.close();
}

function exchange(a: Y.Doc, b: Y.Doc): void {
  const [fromA, fromB] = [Y.encodeStateAsUpdate(a), Y.encodeStateAsUpdate(b)];
  Y.applyUpdate(a, fromB);
  Y.applyUpdate(b, fromA);
}

const createdAt = "2026-01-02T03:04:05.000Z";
const session = (sessionId: string, more: Partial<SessionRecord> = {}): SessionRecord => ({
  type: "workspace_session",
  sessionId,
  createdAt,
  ...more,
});
const change = "workspace_session_change";

describe("WorkspaceLog", () => {
  it("[WS30, WS32] a rename here and archiving there both stand, and so do two renames' last", () => {
    const a = open("laptop");
    const b = open("desktop");
    a.log.append(session("s1", { name: "first", gitRemote: "r" }));
    exchange(a.doc, b.doc);
    a.log.append({ type: change, sessionId: "s1", name: "renamed" });
    b.log.append({ type: change, sessionId: "s1", archived: true });
    exchange(a.doc, b.doc);
    b.log.append({ type: change, sessionId: "s1", name: "again", gitCommit: "c" });
    exchange(a.doc, b.doc);
    for (const { log } of [a, b]) {
      const listed = log.listing.sessions.get("s1");
      expect(listed).toMatchObject({ isArchived: true, createdAt, hints: { gitRemote: "r", gitCommit: "c" } });
      expect(listed && nameOf(listed)).toBe("again");
    }
  });

  it("[WS31, WS32] what lists a session first counts; listing it again says nothing new of it", () => {
    const { log } = open("laptop");
    log.append(session("s1", { name: "first", parentSession: "s0" }));
    log.append({ type: change, sessionId: "s1", name: null });
    log.append(session("s1", { name: "second", createdAt: "2027", parentSession: "other" }));
    const listed = log.listing.sessions.get("s1");
    expect(listed).toMatchObject({ createdAt, parentSession: "s0" });
    expect(listed && nameOf(listed)).toBeUndefined();
  });

  it("[WS3] records of the first version are read: the first place counts, the last name", () => {
    const { doc, log } = open("laptop");
    const old = { type: "workspace_session", createdAt, keyId: "00ff00ff" };
    appendJsons(doc, [
      JSON.stringify({ ...old, sessionId: "s1", cwd: "/home/user/project", name: "first" }),
      JSON.stringify({ ...old, sessionId: "s1", cwd: "/elsewhere", name: "renamed" }),
      JSON.stringify({ ...old, sessionId: "s2", cwd: "/", name: "named" }),
      JSON.stringify({ ...old, sessionId: "s2", cwd: "/" }),
    ]);
    expect([...log.listing.sessions.keys()]).toEqual(["s1", "s2"]);
    expect(log.listing.sessions.get("s1")).toMatchObject({ listedName: "renamed", cwd: "/home/user/project" });
    expect(log.listing.sessions.get("s2")?.listedName).toBeUndefined();
  });

  it("[WS33] the key that was given last is the newest; what is no key is left alone", () => {
    const { doc, log } = open("laptop");
    log.append(session("s1"));
    const [one, two] = ["1".repeat(64), "2".repeat(64)];
    const type = "workspace_session_key";
    for (const key of [one, two, one]) log.append({ type, sessionId: "s1", key });
    appendJsons(doc, [JSON.stringify({ type, sessionId: "s1", key: "short" })], 5);
    expect(log.listing.sessions.get("s1")?.keys).toEqual([two, one]);
  });

  it("[WS34] a deletion is for good, whatever is said of the session later", () => {
    const { log } = open("laptop");
    log.append(session("s1"));
    log.append({ type: "workspace_session_deletion", sessionId: "s1" });
    log.append(session("s1", { name: "back" }));
    log.append({ type: change, sessionId: "s1", archived: false });
    expect(log.listing.sessions.get("s1")).toMatchObject({ isDeleted: true, isArchived: false });
  });

  it("[WS4] the last name of a device counts, also after reading the document again", () => {
    const a = open("laptop");
    a.log.append({ type: "workspace_device", deviceId: "d1", name: "old name" });
    a.log.append({ type: "workspace_device", deviceId: "d1", name: "new name", person: "Ada" });
    const again = open("desktop", a.doc);
    expect(again.log.listing.devices.get("d1")).toMatchObject({ name: "new name", person: "Ada" });
    expect(again.changes()).toBe(1);
  });

  it("[WS5] a record of an unknown kind is kept and ignored, and so is one that is no JSON", () => {
    const a = open("laptop");
    appendJsons(a.doc, ['{"type":"workspace_poll","sessionId":"s9"}', "no json", "null", '{"type":"toString"}']);
    a.log.append(session("s1"));
    expect([...a.log.listing.sessions.keys()]).toEqual(["s1"]);
    expect(a.log.listing.newerRecords).toBe(0);
    expect(a.doc.getArray("entries").length).toBe(5);
  });

  it("[WS3] a forged number does not win for ever", () => {
    const a = open("laptop");
    appendJsons(a.doc, [JSON.stringify(session("s1", { name: "honest" })).replace("{", '{"v":2,')]);
    appendJsons(a.doc, [JSON.stringify({ type: change, v: 1, sessionId: "s1", name: "forged" })], 1_000_000);
    a.log.append({ type: change, sessionId: "s1", name: "renamed" });
    expect(a.log.listing.sessions.get("s1")?.changedName).toBe("renamed");
  });

  it("[WS30] a number that was too large counts once the log has grown to it, as for who reads the log anew", () => {
    const a = open("laptop");
    a.log.append(session("s1"));
    appendJsons(a.doc, [JSON.stringify({ type: change, v: 1, sessionId: "s1", name: "early" })], 4);
    for (const name of ["one", "two", "three"]) {
      a.log.append({ type: change, sessionId: "s1", name });
      expect(a.log.listing).toEqual(open("other", a.doc).log.listing);
    }
  });

  it("[WS2] records are sealed under the workspace room's key and open with no other", () => {
    const a = open("laptop");
    a.log.append(session("s1", { name: "Confidential expedition", gitRemote: "project" }));
    const bytes = Buffer.from(Y.encodeStateAsUpdate(a.doc));
    for (const secret of ["Confidential", "workspace_session", "project"]) expect(bytes.includes(secret)).toBe(false);
    const stranger = new WorkspaceLog(a.doc, {
      keys: deriveWorkspaceRoom(new Uint8Array(32).fill(4)),
      deviceId: "x",
      onChange: () => undefined,
    });
    expect(stranger.listing.sessions.size).toBe(0);
  });
});
