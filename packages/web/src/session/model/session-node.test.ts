import { expect, test } from "vitest";
import { findFirstMessage } from "./session-node.ts";
import { sketchTree } from "./test-tree.ts";

test("[WB75] a session without a name is called by the first message of a person in its log", () => {
  const tree = sketchTree([
    ["s", null, "system"],
    ["m", "s", "model_change"],
    ["u", "m", "user"],
    ["v", "u", "user"],
  ]);
  expect(findFirstMessage(tree)?.id).toBe("u");
  expect(findFirstMessage(sketchTree([["s", null, "system"]]))).toBeUndefined();
});
