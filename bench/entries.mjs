/** Entries for benchmarks: the same at every run, in the proportions of a coding agent's sessions. */
import { createUuidV7Source } from "@coppice/core";
import * as prng from "lib0/prng";

const seed = 20260101;
const startMs = Date.UTC(2026, 0, 1);
/** Characters of text by role: with the rest of the entry 2.25 kB of JSON on average, as in real session files. */
const typicalTurn = [
  ["user", 300],
  ["assistant", 1500],
  ["toolResult", 4500],
  ["assistant", 1900],
];

/** Makes entries as they are asked for; every id is new. */
export function createEntrySource() {
  const random = prng.create(seed);
  const book = writeBook(random, 200_000);
  const createId = createUuidV7Source({
    now: () => startMs,
    fillRandom: (bytes) => bytes.set(prng.uint8Array(random, bytes.length)),
  });
  return {
    /** A chain of `count` entries below `parentId`, as large as real ones. */
    takeTypical: (count, parentId) => take(count, parentId, (at) => typicalTurn[at % typicalTurn.length]),
    /** The same with one line of text each: what an entry costs whatever its size weighs most. */
    takeShort: (count, parentId) => take(count, parentId, () => ["user", 80]),
  };

  function take(count, parentId, chooseText) {
    const timestamp = new Date(startMs).toISOString();
    let lastId = parentId;
    return Array.from({ length: count }, (_, at) => {
      const [role, length] = chooseText(at);
      const start = prng.uint32(random, 0, book.length - length);
      const message = { role, content: [{ type: "text", text: book.slice(start, start + length) }] };
      const entry = { type: "message", id: createId(), parentId: lastId, timestamp, message };
      lastId = entry.id;
      return entry;
    });
  }
}

/** Words in Zipf's frequencies, so that the text deflates as prose does. */
function writeBook(random, length) {
  const words = Array.from({ length: 2000 }, () => prng.word(random, 2, 12));
  let text = "";
  while (text.length < length) text += `${words[Math.floor(words.length ** prng.real53(random)) - 1]} `;
  return text;
}
