/** A part of a text that is parsed by itself. */
export interface MarkdownPiece {
  readonly text: string;
  /** Shown as it is: so much markup, or so many lines, that parsing or drawing it would hold the page up. */
  readonly isPlain: boolean;
}

/** Parsing this much takes a few milliseconds, also when it was written to take long. */
export const maxPieceChars = 6 * 1024;
const maxPieceLines = 500;
const fenceStart = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Cuts a text into pieces of at most `maxPieceChars`: between paragraphs where there is a place for it, else between
 * lines, else anywhere. A block of code that is cut is closed and opened again. Their texts, those fences left out, make
 * up the whole text. At most `maxChars` of it are looked at.
 */
export function cutMarkdown(text: string, maxChars: number = text.length): MarkdownPiece[] {
  const pieces: MarkdownPiece[] = [];
  const end = Math.min(text.length, maxChars);
  let reopened = "";
  for (let from = 0; from < end; ) {
    const to = findCut(text, from, end);
    const part = text.slice(from, to);
    const fence = findOpenFence(reopened + part);
    const closed = fence === undefined || to === end ? part : `${part.replace(/\n$/, "")}\n${fence.mark}`;
    const isPlain = countLines(part) > maxPieceLines;
    pieces.push({ text: isPlain ? part : reopened + closed, isPlain });
    reopened = fence === undefined ? "" : `${fence.line}\n`;
    from = to;
  }
  return pieces;
}

function findCut(text: string, from: number, end: number): number {
  const limit = from + maxPieceChars;
  if (limit >= end) return end;
  const paragraph = text.lastIndexOf("\n\n", limit - 2);
  if (paragraph > from + maxPieceChars / 4) return paragraph + 2;
  const line = text.lastIndexOf("\n", limit - 1);
  if (line > from) return line + 1;
  // Not between the halves of a character.
  const isHalved = /[\ud800-\udbff]/.test(text.charAt(limit - 1));
  return isHalved ? limit - 1 : limit;
}

/** The fence of a code block that is open at the end of a text. */
function findOpenFence(text: string): { readonly line: string; readonly mark: string } | undefined {
  let open: { line: string; mark: string } | undefined;
  for (const line of text.split("\n")) {
    const mark = fenceStart.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === undefined) open = { line: line.slice(0, 200), mark };
    else if (mark.startsWith(open.mark) && line.trim() === mark) open = undefined;
  }
  return open;
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
