import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { describe, expect, it } from "vitest";
import * as Y from "yjs";
import { Coverage, decodeCoverage, encodeCoverage } from "../src/coverage.ts";
import { pairOf } from "./ack-pairs.ts";

describe("Coverage", () => {
  it("[CL5] counts what the relay is not known to hold, whichever client id wrote it", () => {
    const coverage = new Coverage(new Map([[1, 4]]));
    const held = new Map([
      [1, 6],
      [2, 3],
    ]);
    expect(coverage.countPending(held)).toBe(5);
    coverage.raise(2, 3);
    coverage.raise(1, 5);
    expect(coverage.countPending(held)).toBe(1);
  });

  it("[CL5] is not lowered by raising it", () => {
    const coverage = new Coverage();
    expect(coverage.raise(7, 5)).toBe(true);
    expect(coverage.raise(7, 3)).toBe(false);
    expect(coverage.get(7)).toBe(5);
  });

  it("[CL5] a relay that holds less lowers it, one that holds more does not raise it", () => {
    const coverage = new Coverage(
      new Map([
        [1, 9],
        [2, 4],
        [3, 4],
      ]),
    );
    const relay = new Map([
      [1, 2],
      [2, 6],
    ]);
    expect(coverage.lowerTo(relay)).toBe(true);
    expect(coverage.lowerTo(relay)).toBe(false);
    expect([1, 2, 3].map((client) => coverage.get(client))).toEqual([2, 4, 0]);
  });

  it("[CL40] is read back as written, checks included; what is no coverage is none", () => {
    const coverage = new Coverage(
      new Map([
        [4_294_967_295, 70_000],
        [2, 1],
      ]),
    );
    const check = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    coverage.raise(3, 5, check);
    const bytes = encodeCoverage(coverage);
    const again = decodeCoverage(bytes);
    expect(again.clocks()).toEqual(coverage.clocks());
    expect(again.checkOf(3)).toEqual(check);
    expect(again.checkOf(2)).toBeUndefined();
    for (let length = 0; length < bytes.length; length += 1)
      expect(decodeCoverage(bytes.subarray(0, length)).clocks().size).toBe(0);
    expect(decodeCoverage(Uint8Array.of(...bytes, 0)).clocks().size).toBe(0);
    expect(decodeCoverage(undefined).clocks().size).toBe(0);
  });

  it("[CL40] only what was covered is hashed again, and a kept check that is wrong proves and refutes nothing", () => {
    const doc = new Y.Doc();
    doc.clientID = 7;
    for (const byte of [1, 2, 3, 4]) doc.getArray("entries").push([Uint8Array.of(byte)]);
    const checkOf = (clock: number): Uint8Array => pairOf(doc, 7, clock).check ?? new Uint8Array(8);
    let hashed = 0;
    const sha256 = (bytes: Uint8Array): Uint8Array => {
      hashed += 1;
      return nobleSha256(bytes);
    };
    const check = checkOf(4);
    const coverage = new Coverage(new Map(), sha256);
    expect(coverage.isProof(doc, 7, 3, checkOf(3))).toBe(true);
    coverage.raise(7, 3, checkOf(3));
    hashed = 0;
    expect(coverage.isProof(doc, 7, 4, check)).toBe(true);
    expect(hashed).toBe(1);
    coverage.raise(7, 3, new Uint8Array(8).fill(9));
    expect(coverage.isProof(doc, 7, 4, check)).toBe(true);
    expect(coverage.isProof(doc, 7, 4, checkOf(3))).toBe(false);
  });
});
