import { createHash } from "node:crypto";
import { deriveRoomId, digestStateVector, encodeStateVector, extendCheck, type Sha256 } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesToHex, goldenHashes, hexToBytes } from "./golden.ts";

const sha256: Sha256 = (bytes) => createHash("sha256").update(bytes).digest();

test("[WI20] the golden checks, digests and room ids are those that come out", () => {
  for (const { structs, check } of goldenHashes.checks) {
    const checkOfAll = structs
      .map(hexToBytes)
      .reduce<Uint8Array | null>((before, encoded) => extendCheck(before, encoded, sha256), null);
    expect(checkOfAll && bytesToHex(checkOfAll)).toBe(check);
  }
  for (const { stateVector, digest } of goldenHashes.digests) {
    expect(bytesToHex(digestStateVector(new Map(stateVector), sha256))).toBe(digest);
  }
  for (const { secret, room } of goldenHashes.rooms) expect(deriveRoomId(hexToBytes(secret), sha256)).toBe(room);
});

test("[WI21] a digest depends on what is held alone: not on the order of clients, nor on those that have nothing", () => {
  const pairs = fc.uniqueArray(fc.tuple(fc.nat(), fc.nat({ max: 3 })), { selector: ([client]) => client });
  fc.assert(
    fc.property(pairs, pairs, (left, right) => {
      const [first, second] = [new Map(left), new Map(right)];
      const digest = bytesToHex(digestStateVector(first, sha256));
      expect(bytesToHex(digestStateVector(new Map(left.toReversed()), sha256))).toBe(digest);
      const held = ([, clock]: [number, number]): boolean => clock > 0;
      const isSame =
        bytesToHex(encodeStateVector(new Map(left.filter(held)))) ===
        bytesToHex(encodeStateVector(new Map(right.filter(held))));
      expect(bytesToHex(digestStateVector(second, sha256)) === digest).toBe(isSame);
    }),
  );
});
