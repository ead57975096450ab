import type { SessionEntry } from "@coppice/core";
import { expect, test } from "vitest";
import { toArchiveLabel } from "./archived-branches.ts";
import { describeEntry } from "./entry-words.ts";

const base = { id: "e", parentId: null, timestamp: "2026-05-01T10:00:00.000Z" };
const words = (fields: object): string => {
  const { mark, text } = describeEntry({ ...base, ...fields } as SessionEntry);
  return `${mark} ${text}`;
};

test("[WB64] an entry is one line in the words of the command, and a damaged or unknown one is named", () => {
  expect(words({ type: "message", message: { role: "user", content: "\n Hello\nthere" } })).toBe("u Hello");
  expect(words({ type: "message", message: { role: "toolResult", toolName: "read", content: [] } })).toBe(
    "t read: (no output)",
  );
  expect(words({ type: "message", message: { role: "bashExecution", command: "ls", output: "a" } })).toBe("b $ ls");
  expect(words({ type: "leaf", targetId: "0123456789" })).toBe("→ moved to 23456789");
  expect(words({ type: "leaf", targetId: null })).toBe("→ moved before the first entry");
  expect(words({ type: "label", targetId: "x", label: "start" })).toBe("· label start");
  expect(words({ type: "label", ...toArchiveLabel("x", true) })).toBe("· branch archived");
  expect(words({ type: "compaction", summary: "So far", tokensBefore: 3 })).toBe("≡ compacted: So far");
  expect(words({ type: "active_tools_change" })).toBe("? active_tools_change (damaged)");
  expect(words({ type: "hologram" })).toBe("? hologram");
});
