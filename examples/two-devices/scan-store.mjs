/** Looks for the words of a session in files that must not hold them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// Shorter runs of letters turn up in random bytes by chance: one of 8 letters about three times per megabyte, and
// then it is hardly a word of this session.
const wordPattern = /[A-Za-z]{8,}/g;

/** Everything in the files below a folder that could be a word, as one text. */
export async function readWordsOfFolder(folder) {
  const words = new Set();
  for (const item of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!item.isFile()) continue;
    const bytes = await readFile(join(item.parentPath ?? item.path, item.name));
    for (const [word] of bytes.toString("latin1").matchAll(wordPattern)) words.add(word);
  }
  return [...words].join(" ");
}

/** How many of the entries, given as JSON texts, have at least one word that occurs in the text. */
export function countReadableEntries(entryJsons, text) {
  return entryJsons.filter((json) => readSaidWords(JSON.parse(json)).some((word) => text.includes(word))).length;
}

/** Words of all strings in a value; the names of fields are in every session and are left out. */
function readSaidWords(value) {
  if (typeof value === "string") return value.match(wordPattern) ?? [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(readSaidWords);
}
