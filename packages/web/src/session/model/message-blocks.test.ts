import type { SessionEntry } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { blocksToText, readBlocks, readToolResult, replaceText } from "./message-blocks.ts";

function message(fields: object): SessionEntry {
  return { type: "message", id: "e", parentId: null, timestamp: "t", message: { role: "assistant", ...fields } };
}

describe("readBlocks", () => {
  test("[WB65] the parts of a message come in order; those of unknown kinds are shown as JSON", () => {
    const blocks = readBlocks(
      message({
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "Hello" },
          { type: "toolCall", id: "c", name: "read", arguments: { path: "a" } },
          { type: "hologram", depth: 3 },
          null,
        ],
        errorMessage: "overloaded",
      }),
    );
    expect(blocks.map(({ kind }) => kind)).toEqual(["thinking", "text", "tool-call", "unknown", "unknown", "error"]);
    expect(blocksToText(blocks)).toBe("Hello\n\noverloaded");
    expect(readBlocks(message({ content: 7 }))).toMatchObject([{ kind: "unknown", json: "7" }]);
    expect(readBlocks({ type: "compaction", id: "c", parentId: null, timestamp: "t" } as SessionEntry)).toMatchObject([
      { kind: "unknown", name: "compaction" },
    ]);
  });

  test("[WB66] pictures come from data alone and are of kinds that run nothing", () => {
    const image = (mimeType: string, data: string): string =>
      readBlocks(message({ content: [{ type: "image", mimeType, data }] }))[0]?.kind ?? "";
    expect(image("image/png", "aGVsbG8=")).toBe("image");
    expect(image("image/svg+xml", "aGVsbG8=")).toBe("unknown");
    expect(image("text/html", "aGVsbG8=")).toBe("unknown");
    expect(image("image/png", "https://example.org/a.png")).toBe("unknown");
  });

  test("[WB65] the result of a tool names its call", () => {
    const entry = message({ role: "toolResult", toolCallId: "c", toolName: "read", isError: true, content: "no" });
    expect(readToolResult(entry)).toMatchObject({ callId: "c", name: "read", isError: true, blocks: [{ text: "no" }] });
    expect(readToolResult(message({ content: "x" }))).toBeUndefined();
  });

  test("[WB57] an edited message keeps its pictures", () => {
    const image = { type: "image", mimeType: "image/png", data: "aGVsbG8=" };
    expect(replaceText("old", "new")).toBe("new");
    expect(replaceText([{ type: "text", text: "old" }], "new")).toBe("new");
    expect(replaceText([image, { type: "text", text: "a" }, { type: "text", text: "b" }], "new")).toEqual([
      image,
      { type: "text", text: "new" },
    ]);
    expect(replaceText([image], "new")).toEqual([{ type: "text", text: "new" }, image]);
  });
});
