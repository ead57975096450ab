import stripAnsi from "strip-ansi";

// Written by other devices and by tools: what acts on a terminal, or on the direction of a line, must not act here.

/** Embeddings, overrides and isolates of direction; characters without width that nothing needs; ASCII in disguise. */
const hidden =
  /[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u2066-\u206f\u202a-\u202e\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this expression is for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Joiners next to ASCII letters: in the scripts and pictures that need them, there are none beside. */
const idleJoiners = /(?<=[\u0020-\u007e])[\u200c\u200d]|[\u200c\u200d](?=[\u0020-\u007e])/g;
const flagTags = /\u{1f3f4}[\u{e0020}-\u{e007e}]+\u{e007f}/gu;
const worthLooking =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00ad\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\udb40\ufeff\uffa0\ufff9-\ufffb]/;

/**
 * A text as a page may show it: line ends and tabs stay, escape sequences of terminals go, and what nobody could see
 * is named, like `⟦U+202E⟧`, so that what is read is what is there (SPEC WB70).
 */
export function toShownText(text: string): string {
  if (!worthLooking.test(text)) return text;
  const plain = stripAnsi(text).replace(/\r\n?/g, "\n");
  return replaceHidden(plain, nameCharacter).replace(controls, pictureControl);
}

function replaceHidden(text: string, toText: (character: string) => string): string {
  const flags: string[] = [];
  return text
    .replace(flagTags, (flag) => `\ue000${flags.push(flag) - 1}\ue001`)
    .replace(hidden, toText)
    .replace(idleJoiners, toText)
    .replace(/\ue000(\d+)\ue001/g, (same, index) => flags[Number(index)] ?? same);
}

// As in a terminal, where a line has no room for names of characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text as one printable line, for names, labels and beginnings of texts: runs of white space become one blank; escape
 * sequences, controls and what nobody could see are taken out.
 */
export function toShownLine(text: string): string {
  if (!worthLooking.test(text)) return text.replace(/\s+/g, " ").trim();
  return replaceHidden(stripAnsi(text.replace(/\s+/g, " ")).replace(unprintable, ""), () => "").trim();
}

/** The first line of a text that says something, printable and of at most `maxChars`. Empty when there is none. */
export function firstShownLine(text: string, maxChars = 300): string {
  // A line of a megabyte is cut before it is looked at.
  for (const line of text.slice(0, maxLookedAt).split(/\r\n|\r|\n/)) {
    const shown = toShownLine(line.slice(0, maxChars * 4));
    if (shown !== "") return shown.slice(0, maxChars);
  }
  return "";
}

const maxLookedAt = 64 * 1024;

function nameCharacter(character: string): string {
  return `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`;
}

/** Controls that have a picture of their own are shown by it. */
function pictureControl(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : nameCharacter(character);
}
