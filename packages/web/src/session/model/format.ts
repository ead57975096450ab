/** A number of characters or bytes for people. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1 entry`, `12 entries`. */
export function countOf(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** `1 entry`, `1,200 entries`. */
export function countEntries(count: number): string {
  return countOf(count, "entry", "entries");
}

/** The day of a time in the reader's zone, for comparing; an unreadable time is a day of its own. */
export function dayOf(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? timestamp : `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
});
const momentFormat = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const datedFormat = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const timeFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** The day of a time in the reader's words. */
export function formatDay(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? "no day" : dayFormat.format(date);
}

/** Hours and minutes of a time in the reader's zone; empty when it cannot be read. */
export function formatTime(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? "" : timeFormat.format(date);
}

/** A time in the reader's zone: with its day unless that is today's, with its year unless that is this one's. */
export function formatMoment(timestamp: string, now: Date = new Date()): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "";
  if (dayOf(timestamp) === dayOf(now.toISOString())) return timeFormat.format(date);
  return (date.getFullYear() === now.getFullYear() ? momentFormat : datedFormat).format(date);
}
