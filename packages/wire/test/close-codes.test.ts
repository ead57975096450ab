import { readFileSync } from "node:fs";
import {
  type CloseReason,
  closeCodes,
  isFinalCloseCode,
  offenceToCloseReason,
  type UpdateOffence,
} from "@coppice/wire";
import { expect, test } from "vitest";

const later: readonly CloseReason[] = ["storageFailed", "roomQuarantined", "restarting", "storageFull", "busy"];
const offences: readonly UpdateOffence[] = [
  "malformed",
  "delete",
  "foreign_content",
  "middle_insert",
  "cycle",
  "too_many_structs",
  "too_many_clients",
  "record_too_big",
];

test("[WI7] every reason has a number of its own, final ones in 4400-4499 and the others in 4500-4599", () => {
  const entries = Object.entries(closeCodes) as Array<[CloseReason, number]>;
  expect(new Set(entries.map(([, code]) => code)).size).toBe(entries.length);
  for (const [reason, code] of entries) {
    expect(isFinalCloseCode(code), reason).toBe(!later.includes(reason));
    if (later.includes(reason)) expect(Math.floor(code / 100)).toBe(45);
  }
});

test("[WI7] a code outside 4400-4499 is never final", () => {
  for (const code of [1000, 1006, 1012, 4399, 4500]) expect(isFinalCloseCode(code)).toBe(false);
});

test("[WI7] every offence of an update closes with a final code of its own", () => {
  const codes = offences.map((offence) => closeCodes[offenceToCloseReason(offence)]);
  expect(new Set(codes).size).toBe(offences.length);
  expect(codes.every(isFinalCloseCode)).toBe(true);
});

test("[WI7] the table of SPEC.md names exactly these codes", () => {
  const spec = readFileSync(new URL("../../../SPEC.md", import.meta.url), "utf8");
  const rows = [...spec.matchAll(/^\| (4\d\d\d) \| `(\w+)` +\|/gm)].map(([, code, reason]) => [reason, Number(code)]);
  expect(rows).toEqual(Object.entries(closeCodes));
});
