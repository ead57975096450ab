import type { FoundSession, SurveyAnswer, TakeInAnswer, UntakenFile } from "./protocol.ts";
import { count } from "./sync-phase.ts";

/** What was found, in one line without its full stop: how many, how large, known ones, likely secrets, what is left out. */
export function describeSurvey({ found, known, bytes, passedOver, failed }: SurveyAnswer): string {
  const risky = found.filter(({ secrets }) => secrets.length > 0);
  const totals = new Map<string, number>();
  for (const { kind, count: number } of risky.flatMap(({ secrets }) => secrets))
    totals.set(kind, (totals.get(kind) ?? 0) + number);
  const kinds = Array.from(totals, ([kind, number]) => `${kind} ${number}`).join(", ");
  const numbers = [
    `${count(found.length + known, "session", "sessions")}, ${formatSize(bytes)}`,
    known > 0 && `${known} known already`,
    passedOver > 0 && `${passedOver} deleted or switched off`,
  ].filter((part) => part !== false);
  const remarks = [
    numbers.join(", "),
    risky.length > 0 && `likely secrets in ${risky.length} of them (${kinds})`,
    failed.length > 0 && describeFailed(failed),
  ];
  return remarks.filter((part) => part !== false).join("; ");
}

/** What the user can choose, and the files that each choice takes in. */
export function chooseFiles(found: readonly FoundSession[]): Map<string, readonly string[]> {
  const clean = found.filter(({ secrets }) => secrets.length === 0);
  const pathsOf = (sessions: readonly FoundSession[]): string[] => sessions.map(({ file }) => file);
  const choices = new Map<string, readonly string[]>([[`All ${found.length}`, pathsOf(found)]]);
  if (clean.length > 0 && clean.length < found.length)
    choices.set(`The ${clean.length} without likely secrets`, pathsOf(clean));
  return choices.set("None", []);
}

/** What came of taking in `total` files. */
export function describeTaken({ taken, refused, failed, isComplete }: TakeInAnswer, total: number): string {
  const lines = refused === 0 ? "" : `; ${count(refused, "line", "lines")} of them cannot be shared`;
  const others = failed.length === 0 ? "" : `; ${describeFailed(failed)}`;
  if (!isComplete) return `stopped with ${taken} of ${total} taken in${lines}${others}. /coppice import goes on.`;
  return `${count(taken, "session is", "sessions are")} taken in${lines}${others}.`;
}

function describeFailed(failed: readonly UntakenFile[]): string {
  const [first] = failed;
  const others = failed.length === 1 ? "" : ", and others";
  return `${count(failed.length, "file", "files")} cannot be taken in (${first?.file}: ${first?.reason}${others})`;
}

function formatSize(bytes: number): string {
  const kilobyte = 1_000;
  const megabyte = 1_000_000;
  return bytes < megabyte ? `${Math.ceil(bytes / kilobyte)} kB` : `${Math.round(bytes / megabyte)} MB`;
}
