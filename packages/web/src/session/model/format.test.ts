import { expect, test } from "vitest";
import { formatMoment, formatTime } from "./format.ts";

test("[WB74] a time has its day unless that is today, and its year unless that is this one", () => {
  const now = new Date(2026, 4, 17, 12);
  const at = (...parts: [number, number, number, number]) => new Date(...parts).toISOString();
  expect(formatMoment(at(2026, 4, 17, 9), now)).toBe(formatTime(at(2026, 4, 17, 9)));
  expect(formatMoment(at(2026, 4, 16, 9), now)).toMatch(/16/);
  expect(formatMoment(at(2026, 4, 16, 9), now)).not.toMatch(/2026/);
  expect(formatMoment(at(2025, 4, 17, 9), now)).toMatch(/2025/);
  expect(formatMoment("no time", now)).toBe("");
});
