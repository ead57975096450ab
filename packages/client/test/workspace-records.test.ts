import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatWorkspaceRecord,
  parseWorkspaceRecord,
  type ReadWorkspaceRecord,
  type WorkspaceRecord,
} from "../src/workspace-records.ts";

const golden: {
  id: string;
  timestamp: string;
  written: { record: WorkspaceRecord; json: string }[];
  read: { about: string; json: string; reads: ReadWorkspaceRecord }[];
} = JSON.parse(readFileSync(new URL("./golden/workspace-records.json", import.meta.url), "utf8"));

describe("workspace records", () => {
  it.each(golden.written)("[WS31, WS32, WS33, WS34, WS4] $record.type is written as ever, and read back", (vector) => {
    expect(formatWorkspaceRecord(vector.record, golden.id, golden.timestamp)).toBe(vector.json);
    expect(parseWorkspaceRecord(vector.json)).toEqual({ kind: "known", record: vector.record });
  });

  it.each(golden.read)("[WS3, WS5, WS44] $about: $json", ({ json, reads }) => {
    expect(parseWorkspaceRecord(json)).toEqual(reads);
  });

  it("[WS5] any text is read without an error", () => {
    const types = fc.constantFrom(...golden.written.map(({ record }) => record.type));
    const fields = fc.dictionary(
      fc.constantFrom("v", "sessionId", "deviceId", "name", "createdAt", "archived", "key", "cwd", "gitRemote"),
      fc.oneof(fc.jsonValue(), fc.string(), fc.nat({ max: 4 })),
    );
    const records = fc.tuple(types, fields).map(([type, rest]) => JSON.stringify({ type, ...rest }));
    fc.assert(
      fc.property(fc.oneof(records, fc.json(), fc.string()), (json) => {
        expect(["known", "newer", "unknown"]).toContain(parseWorkspaceRecord(json).kind);
      }),
    );
  });
});
