import type { SharedSession } from "@coppice/client";
import { InMemorySessionStorage, Session, type SessionEntry } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { isArchivedBranch } from "../model/archived-branches.ts";
import { archiveBranch, branchWithEdit } from "./branch-acts.ts";
import { exportMarkdown, toFileName } from "./export-session.ts";

/** A session in memory with what these acts use of an open one. */
function openHere(): SharedSession {
  const storage = new InMemorySessionStorage();
  const session = new Session(storage);
  // The index that an open session shows; of a storage in memory nobody outside sees it otherwise.
  const { tree } = storage as unknown as Pick<SharedSession, "tree">;
  return { id: "s", storage, session, tree } as unknown as SharedSession;
}

describe("acts", () => {
  test("[WB57] a message that is edited is said anew beside the old one, which stays", async () => {
    const open = openHere();
    const first = await open.session.appendMessage({ role: "user", content: "one" });
    const second = await open.session.appendMessage({ role: "user", content: [{ type: "text", text: "two" }] });
    const edited = await branchWithEdit(open, second, "three");
    const entry = (await open.storage.getEntry(edited)) as SessionEntry & { type: "message" };
    expect(entry).toMatchObject({ parentId: first, message: { role: "user", content: "three" } });
    expect(await open.session.getLeafId()).toBe(edited);
    expect(open.tree.children(first).map(({ id }) => id)).toEqual([second, edited]);
    const root = await branchWithEdit(open, first, "zero");
    expect(open.tree.get(root)?.parentId).toBeNull();
    await expect(branchWithEdit(open, "none", "x")).rejects.toMatchObject({ code: "invalid_entry" });
  });

  test("[WB58] archiving a branch is a label record that no entry shows, and can be taken back", async () => {
    const open = openHere();
    const id = await open.session.appendMessage({ role: "user", content: "one" });
    await archiveBranch(open, id, true);
    expect(isArchivedBranch(open.tree, id)).toBe(true);
    expect(open.tree.label(id)).toBeUndefined();
    expect(open.tree.nodes().at(-1)).toMatchObject({
      type: "label",
      targetId: `coppice/archived-branch/${id}`,
      label: "archived",
    });
    await archiveBranch(open, id, false);
    expect(isArchivedBranch(open.tree, id)).toBe(false);
  });

  test("[WB68] a branch is saved as Markdown for people, code in fences that hold it", async () => {
    const open = openHere();
    await open.session.appendMessage({ role: "user", content: "Hello" });
    const id = await open.session.appendMessage({
      role: "toolResult",
      toolName: "read",
      toolCallId: "c",
      content: "```\nx\n```",
    });
    expect(await exportMarkdown(open, id)).toBe(
      "# Session\n\n## user\n\nHello\n\n### Result of read\n\n````\n```\nx\n```\n````\n",
    );
    expect(toFileName("Fix: the login/test!", "md")).toBe("fix-the-login-test.md");
    expect(toFileName("…", "md")).toBe("session.md");
  });
});
