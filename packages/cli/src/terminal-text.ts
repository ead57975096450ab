import { stripVTControlCharacters } from "node:util";
import measureTruncated from "fast-string-truncated-width";

const ellipsis = "…";

// Left over when escape sequences are out: controls, and direction overrides that would reorder the line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this expression is for
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** What an entry says was written by another device and must not act on the terminal of whoever looks at it. */
function removeUnprintable(text: string): string {
  return stripVTControlCharacters(text).replace(unprintable, "");
}

/** A text as one printable line: runs of white space become one blank, escape sequences and controls are taken out. */
export function toPrintableLine(text: string): string {
  return removeUnprintable(text.replace(/\s+/g, " ")).trim();
}

/** The first line of a text that says something, printable. Empty when there is none. */
export function firstPrintableLine(text: string): string {
  for (const line of text.split(/\r\n|\r|\n/)) {
    const printable = toPrintableLine(line);
    if (printable !== "") return printable;
  }
  return "";
}

/** A text of several lines as a terminal may show it: line ends and tabs stay, escape sequences and controls go. */
export function toPrintableText(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => removeUnprintable(line.replaceAll("\t", "    ")))
    .join("\n");
}

/** Columns a printable line takes in a terminal. */
export function measureColumns(line: string): number {
  return measureTruncated(line).width;
}

/** A printable line cut to at most `columns`, with an ellipsis when something was cut. */
export function cutToColumns(line: string, columns: number): string {
  const measured = measureTruncated(line, { limit: columns, ellipsis });
  return measured.truncated ? line.slice(0, measured.index).trimEnd() + (measured.ellipsed ? ellipsis : "") : line;
}
