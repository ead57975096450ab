import type { SessionEntry } from "@coppice/core";
import { describe, expect, it } from "vitest";
import { type RenderTreeOptions, renderTree, type TreePicture } from "../src/render-tree.ts";
import { assistantEntry, modelEntry, userEntry } from "./support/make-entries.ts";

function draw(
  entries: SessionEntry[],
  picture: Partial<TreePicture> = {},
  options: Partial<RenderTreeOptions> = {},
): string {
  return renderTree({ entries, labelByEntryId: new Map(), cursors: [], ...picture }, { columns: 60, ...options }).join(
    "\n",
  );
}

/** The session of the README's picture. */
const branched = [
  userEntry("u1", null, "Why does the login test fail?"),
  assistantEntry("a1", "u1", "The clock is mocked too late."),
  userEntry("u2", "a1", "Try fixing the mock"),
  userEntry("u3", "a1", "Replace it by a real timer"),
  assistantEntry("a2", "u2", "Done, 3 files"),
  assistantEntry("a3", "u3", "Done, 1 file"),
];

describe("renderTree", () => {
  it("[CP20] draws linear runs downwards and branches in log order, with cursors at the end of the line", () => {
    const cursors = [
      { name: "laptop", leafId: "a2" },
      { name: "desktop", leafId: "a3" },
    ];
    expect(draw(branched, { cursors })).toBe(
      [
        "u  Why does the login test fail?",
        "a  The clock is mocked too late.",
        "├─ u  Try fixing the mock",
        "│  a  Done, 3 files           ◀ laptop",
        "└─ u  Replace it by a real timer",
        "   a  Done, 1 file            ◀ desktop",
      ].join("\n"),
    );
  });

  it("[CP20] indents a branch of a branch and closes it before the next one", () => {
    const entries = [
      userEntry("root", null),
      userEntry("left", "root"),
      userEntry("right", "root"),
      userEntry("left-1", "left"),
      userEntry("left-2", "left"),
      userEntry("left-1-1", "left-1"),
    ];
    expect(draw(entries)).toBe(
      ["u  root", "├─ u  left", "│  ├─ u  left-1", "│  │  u  left-1-1", "│  └─ u  left-2", "└─ u  right"].join("\n"),
    );
  });

  it("[CP20] draws several roots as branches of nothing", () => {
    expect(draw([userEntry("one", null), userEntry("two", ""), userEntry("one-1", "one")])).toBe(
      ["├─ u  one", "│  u  one-1", "└─ u  two"].join("\n"),
    );
  });

  it("[CP20] draws a run of 20,000 entries without running out of stack", () => {
    const entries = Array.from({ length: 20_000 }, (_, index) =>
      userEntry(`e${index}`, index === 0 ? null : `e${index - 1}`),
    );
    expect(draw(entries).split("\n")).toHaveLength(20_000);
  });

  it("[CP21] leaves out entries that are not part of the conversation and hangs what is below them on what is above", () => {
    const entries = [userEntry("u1", null), modelEntry("m1", "u1"), assistantEntry("a1", "m1"), modelEntry("m2", "a1")];
    expect(draw(entries)).toBe("u  u1\na  a1");
  });

  it("[CP21] shows an entry of another kind when somebody stands on it or it has a label", () => {
    const entries = [userEntry("u1", null), modelEntry("m1", "u1"), modelEntry("m2", "m1")];
    expect(
      draw(entries, { cursors: [{ name: "laptop", leafId: "m2" }], labelByEntryId: new Map([["m1", "cheap"]]) }),
    ).toBe(["u  u1", "·  model openrouter/some/model [cheap]", "·  model openrouter/some/model  ◀ laptop"].join("\n"));
  });

  it("[CP21] passes through moves and compactions of the tree's log without drawing moves", () => {
    const entries: SessionEntry[] = [
      userEntry("u1", null),
      { type: "leaf", id: "l1", parentId: "u1", timestamp: "2026-12-01T10:00:00.000Z", targetId: "u1" },
      {
        type: "compaction",
        id: "c1",
        parentId: "l1",
        timestamp: "2026-12-01T10:00:00.000Z",
        summary: "So far.\nMore.",
        tokensBefore: 9,
      },
    ];
    expect(draw(entries)).toBe("u  u1\n≡  compacted: So far.");
  });

  it("[CP22] joins the names of devices on one entry and shows each name once", () => {
    const cursors = [
      { name: "laptop", leafId: "a1" },
      { name: "laptop", leafId: "a1" },
      { name: "phone", leafId: "a1" },
    ];
    expect(draw(branched.slice(0, 2), { cursors })).toContain("a  The clock is mocked too late.  ◀ laptop, phone");
  });

  it("[CP22] says where a cursor is that stands on no entry of this replica", () => {
    const cursors = [
      { name: "laptop", leafId: null },
      { name: "phone", leafId: "not-here" },
    ];
    expect(draw([userEntry("u1", null)], { cursors })).toBe(
      ["·  (before the first entry)  ◀ laptop", "u  u1", "on an entry that has not arrived: ◀ phone"].join("\n"),
    );
  });

  it("[CP22] paints cursors only when it is given a brush", () => {
    const cursors = [{ name: "laptop", leafId: "u1" }];
    expect(draw([userEntry("u1", null)], { cursors }, { paintCursor: (text) => `<${text}>` })).toContain("<◀ laptop>");
  });

  it("[CP23] lists entries that wait for their parent and counts those in a cycle", () => {
    const entries = [
      userEntry("u1", null),
      userEntry("waiting", "missing"),
      userEntry("below", "waiting"),
      userEntry("cycle-1", "cycle-2"),
      userEntry("cycle-2", "cycle-1"),
    ];
    expect(draw(entries)).toBe(
      [
        "u  u1",
        "waiting for an entry that has not arrived (1):",
        "u  waiting",
        "u  below",
        "not shown: 2 whose parents form a cycle",
      ].join("\n"),
    );
  });

  it("[CP24] folds the middle of a long run and keeps what is marked", () => {
    const entries = Array.from({ length: 9 }, (_, index) =>
      userEntry(`e${index}`, index === 0 ? null : `e${index - 1}`),
    );
    expect(draw(entries, {}, { fold: 2 })).toBe(["u  e0", "u  e1", "⋮  5 more", "u  e7", "u  e8"].join("\n"));
    const marked = draw(entries, { cursors: [{ name: "laptop", leafId: "e4" }] }, { fold: 2 });
    expect(marked.replace(/ +◀/, "  ◀")).toBe(
      ["u  e0", "u  e1", "⋮  2 more", "u  e4  ◀ laptop", "⋮  2 more", "u  e7", "u  e8"].join("\n"),
    );
    expect(draw(entries.slice(0, 5), {}, { fold: 2 })).not.toContain("⋮");
  });

  it("[CP6] cuts a line to the width by what a terminal shows, wide characters counted double", () => {
    const [line] = draw([userEntry("u1", null, "漢字".repeat(40))], {}, { columns: 30 }).split("\n");
    expect(line).toBe(`u  ${"漢字".repeat(6)}漢…`);
  });

  it("[CP6] takes escape sequences, controls and direction overrides of a text out", () => {
    const text = "\u001b[31mred\u001b[0m \u0007bell \u202e\u001b]0;title\u0007back\r\nmore";
    expect(draw([userEntry("u1", null, text)])).toBe("u  red bell back");
  });
});
