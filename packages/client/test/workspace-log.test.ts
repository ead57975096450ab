import { deriveWorkspaceRoom, RecordCodec, RecordLog } from "@coppice/storage-yjs";
import { describe, expect, it } from "vitest";
import * as Y from "yjs";
import { WorkspaceLog, type WorkspaceSessionRecord } from "../src/workspace-log.ts";

const keys = deriveWorkspaceRoom(new Uint8Array(32).fill(3));

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

function exchange(a: Y.Doc, b: Y.Doc): void {
  const [fromA, fromB] = [Y.encodeStateAsUpdate(a), Y.encodeStateAsUpdate(b)];
  Y.applyUpdate(a, fromB);
  Y.applyUpdate(b, fromA);
}

const session = (sessionId: string, more: Partial<WorkspaceSessionRecord> = {}): WorkspaceSessionRecord => ({
  type: "workspace_session",
  sessionId,
  createdAt: "2026-01-02T03:04:05.000Z",
  cwd: "/home/user/project",
  keyId: "00ff00ff",
  ...more,
});

describe("WorkspaceLog", () => {
  it("[WS3] two devices that list and rename agree: the last name counts, the first place", () => {
    const a = open("laptop");
    const b = open("desktop");
    a.log.append(session("s1", { name: "first" }));
    exchange(a.doc, b.doc);
    b.log.append(session("s1", { name: "renamed", cwd: "/elsewhere" }));
    a.log.append(session("s2"));
    exchange(a.doc, b.doc);
    for (const { log } of [a, b]) {
      expect([...log.sessions().keys()]).toEqual(["s1", "s2"]);
      expect(log.sessions().get("s1")).toMatchObject({ name: "renamed", cwd: "/home/user/project" });
      expect(log.sessions().get("s2")?.name).toBeUndefined();
    }
  });

  it("[WS4] the last name of a device counts, also after reading the document again", () => {
    const a = open("laptop");
    a.log.append({ type: "workspace_device", deviceId: "d1", name: "old name" });
    a.log.append({ type: "workspace_device", deviceId: "d1", name: "new name", person: "Ada" });
    const again = open("desktop", a.doc);
    expect(again.log.devices().get("d1")).toMatchObject({ name: "new name", person: "Ada" });
    expect(again.changes()).toBe(1);
  });

  it("[WS5] a record of an unknown kind is kept and ignored, and so is one that is no JSON", () => {
    const a = open("laptop");
    const codec = new RecordCodec({ sessionId: "workspace", keys });
    const foreign = new RecordLog(a.doc, () => undefined);
    const record = (n: number, json: string) =>
      codec.prepareRecord({
        id: `x${n}`,
        parentId: null,
        type: "workspace_poll",
        timestamp: "t",
        deviceId: "d",
        n,
        json,
      });
    foreign.append([record(1, '{"type":"workspace_poll","sessionId":"s9"}'), record(2, "no json"), record(3, "null")]);
    a.log.append(session("s1"));
    expect([...a.log.sessions().keys()]).toEqual(["s1"]);
    expect(foreign.recordCount).toBe(4);
  });

  it("[WS3] a forged number does not win for ever", () => {
    const a = open("laptop");
    const codec = new RecordCodec({ sessionId: "workspace", keys });
    const foreign = new RecordLog(a.doc, () => undefined);
    const json = JSON.stringify(session("s1", { name: "forged" }));
    const fields = { id: "f", parentId: null, type: "workspace_session", timestamp: "t", deviceId: "d" };
    foreign.append([codec.prepareRecord({ ...fields, n: 1_000_000, json })]);
    a.log.append(session("s1", { name: "honest" }));
    expect(a.log.sessions().get("s1")?.name).toBe("honest");
  });

  it("[WS2] records are sealed under the workspace room's key and open with no other", () => {
    const a = open("laptop");
    a.log.append(session("s1", { name: "Confidential expedition" }));
    const bytes = Buffer.from(Y.encodeStateAsUpdate(a.doc));
    for (const secret of ["Confidential", "workspace_session", "project"]) expect(bytes.includes(secret)).toBe(false);
    const stranger = new WorkspaceLog(a.doc, {
      keys: deriveWorkspaceRoom(new Uint8Array(32).fill(4)),
      deviceId: "x",
      onChange: () => undefined,
    });
    expect(stranger.sessions().size).toBe(0);
  });
});
