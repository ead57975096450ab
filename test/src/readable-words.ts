import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Distinct words of at least 8 letters in a session's lines, and the texts that must stay secret whole: cwd, names, labels, entry ids. */
export function collectSecrets(lines: readonly string[]): string[] {
  const secrets = new Set<string>();
  for (const line of lines) {
    for (const [word] of line.matchAll(/[A-Za-z]{8,}/g)) secrets.add(word);
    const { id, cwd, name, label } = JSON.parse(line) as { [field: string]: unknown };
    for (const text of [id, cwd, name, label]) if (typeof text === "string" && text.length >= 4) secrets.add(text);
  }
  return [...secrets];
}

/** The secrets that occur in the bytes, case-sensitively. */
export function findSecrets(secrets: readonly string[], bytes: Buffer): string[] {
  // A printable secret can only stand within a run of printable bytes, and sealed bytes have few: search those alone.
  const text = bytes.toString("latin1");
  const printableRuns = (text.match(/[ -~]{4,}/g) ?? []).join("\n");
  const wholeWords = new Set(text.match(/[A-Za-z]{8,}/g));
  return secrets.filter(
    (secret) =>
      wholeWords.has(secret) || (/^[ -~]+$/.test(secret) ? printableRuns.includes(secret) : bytes.includes(secret)),
  );
}

/** All bytes of all files under a folder. */
export function readFolderBytes(folder: string): Buffer {
  const names = readdirSync(folder, { recursive: true }) as string[];
  const files = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return Buffer.concat(files.map((path) => readFileSync(path)));
}
