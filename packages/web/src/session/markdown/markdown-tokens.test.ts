import { describe, expect, test } from "vitest";
import { cutMarkdown, maxPieceChars } from "./markdown-pieces.ts";
import { type MarkdownToken, parseMarkdown, toSafeAddress } from "./markdown-tokens.ts";

function flatten(tokens: readonly MarkdownToken[] | undefined): string[] {
  return (tokens ?? []).flatMap(({ type, content, children }) =>
    children === null ? [type] : [type, content, ...flatten(children)],
  );
}

describe("parseMarkdown", () => {
  test("[WB71] HTML stays text, and a link is one only when it leads to the web or to mail", () => {
    expect(flatten(parseMarkdown("<script>alert(1)</script>"))).not.toContain("html_block");
    expect(flatten(parseMarkdown('a <img src="x" onerror="y">'))).not.toContain("html_inline");
    for (const address of [
      "javascript:alert(1)",
      "data:text/html,x",
      "JaVaScRiPt:x",
      "file:///etc",
      "//example.org",
      "vbscript:x",
    ]) {
      expect(toSafeAddress(address)).toBeUndefined();
      expect(flatten(parseMarkdown(`[a](${address})`))).not.toContain("link_open");
    }
    for (const address of ["https://example.org/a", "http://example.org", "mailto:a@example.org"]) {
      expect(toSafeAddress(address)).toBe(address);
      expect(flatten(parseMarkdown(`[a](${address})`))).toContain("link_open");
    }
  });

  test("[WB72] what would become too many elements is not parsed into any", () => {
    expect(parseMarkdown("*a*".repeat(2_000))).toBeUndefined();
    expect(parseMarkdown("plain")).toHaveLength(3);
  });
});

describe("cutMarkdown", () => {
  test("[WB72] a text is cut between paragraphs or lines into pieces that make it up, and a block of code goes on in the next", () => {
    const text = Array.from({ length: 900 }, (_, index) => `Paragraph ${index} says little.\n\n`).join("");
    const pieces = cutMarkdown(text);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    expect(pieces.every((piece) => piece.text.length <= maxPieceChars && piece.text.endsWith("\n\n"))).toBe(true);

    const code = cutMarkdown(`\`\`\`ts\n${"const a = 1; // a line of code\n".repeat(400)}\`\`\`\n`);
    expect(code.length).toBeGreaterThan(1);
    for (const piece of code) expect(flatten(parseMarkdown(piece.text))).toEqual(["fence"]);
  });

  test("[WB72] a megabyte of emphasis marks, or of short lines, is cut as far as is looked at, and shown as it is", () => {
    const marks = cutMarkdown("*a_b**c".repeat(150_000), 24 * 1024);
    expect(marks.length).toBeLessThanOrEqual(5);
    expect(cutMarkdown("|\n".repeat(500_000), 24 * 1024).every(({ isPlain }) => isPlain)).toBe(true);
  });
});
