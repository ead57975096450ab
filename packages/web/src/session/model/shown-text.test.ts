import { describe, expect, test } from "vitest";
import { firstShownLine, toShownLine, toShownText } from "./shown-text.ts";

describe("toShownText", () => {
  test("[WB70] escape sequences of terminals go, controls are pictures, and ends of lines and tabs stay", () => {
    expect(toShownText("\u001b[31mred\u001b[0m\tx\r\ny\rz\u0007\u007f")).toBe("red\tx\ny\nz␇␡");
    expect(toShownText("\u001b]8;;https://example.org\u0007link\u001b]8;;\u0007")).toBe("link");
  });

  test("[WB70] what turns the direction or has no width is named", () => {
    expect(toShownText("a\u202eb\u2066c\u200bd\ufeff\u{e0041}")).toBe("a⟦U+202E⟧b⟦U+2066⟧c⟦U+200B⟧d⟦U+FEFF⟧⟦U+E0041⟧");
    expect(toShownText("pass\u200dword")).toBe("pass⟦U+200D⟧word");
  });

  test("[WB70] what scripts, families and flags need stays as it is", () => {
    for (const text of ["naïve café – 日本語 👩‍👩‍👧", "می‌خواهم", "שלום, עולם", "🏴󠁧󠁢󠁳󠁣󠁴󠁿 flag", "plain"])
      expect(toShownText(text)).toBe(text);
  });

  test("[WB70] a line has no controls and no turns of direction, and is cut before it is looked at", () => {
    expect(toShownLine("  a \u001b[1mb\u202e\n c ")).toBe("a b c");
    expect(toShownLine("pass\u200d\u200bword\u200f 👩‍👩‍👧 می‌خواهم")).toBe("password 👩‍👩‍👧 می‌خواهم");
    expect(firstShownLine(`\n\n  ${"y".repeat(2_000_000)}`, 10)).toBe("yyyyyyyyyy");
    expect(firstShownLine(" \n \u202e\n")).toBe("");
  });
});
