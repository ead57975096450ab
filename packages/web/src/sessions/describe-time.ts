const steps = [
  ["year", 365 * 24 * 60 * 60_000],
  ["month", 30 * 24 * 60 * 60_000],
  ["day", 24 * 60 * 60_000],
  ["hour", 60 * 60_000],
  ["minute", 60_000],
] as const;

/** How long ago, in the coarsest unit that says something; both times in ms since 1970. */
export function describeAge(time: number, now: number): string {
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, unitMs] of steps) {
    const count = Math.floor((now - time) / unitMs);
    if (count >= 1) return format.format(-count, unit);
  }
  return "just now";
}
