import type { SharedSession } from "@coppice/client";
import { useEntry, useTree } from "@coppice/react";
import { useMemo } from "react";
import { describeEntry } from "../model/entry-words.ts";
import { findFirstMessage } from "../model/session-node.ts";
import { toShownLine } from "../model/shown-text.ts";

/** What a session is called: its name, else the beginning of the first message of a person, once that has been read. */
export function useSessionTitle(session: SharedSession): string {
  const { tree, version } = useTree(session);
  const name = toShownLine(tree.sessionName() ?? "");
  const firstId = useMemo(() => findFirstMessage(tree)?.id, [tree, version]);
  // An entry of no id is none, and nothing is opened for it.
  const first = useEntry(session, name === "" && firstId !== undefined ? firstId : "");
  if (name !== "") return name;
  return first.state === "ready" ? describeEntry(first.entry).text.slice(0, 80) : "Session without a name";
}
