import { describe, expect, test } from "vitest";
import { arrangePanes } from "./shown-panes.ts";

describe("arrangePanes", () => {
  test("[WB73] a phone shows one view; a wide screen has the tree beside another, the widest all, and the choice is between the rest", () => {
    expect(arrangePanes("one", "tree")).toEqual({
      shown: ["tree"],
      choice: ["tree", "transcript", "log"],
      chosen: "tree",
    });
    expect(arrangePanes("two", "tree")).toEqual({
      shown: ["tree", "transcript"],
      choice: ["transcript", "log"],
      chosen: "transcript",
    });
    expect(arrangePanes("two", "log")).toMatchObject({ shown: ["tree", "log"], chosen: "log" });
    expect(arrangePanes("three", "log")).toMatchObject({ shown: ["tree", "transcript", "log"], choice: [] });
  });
});
