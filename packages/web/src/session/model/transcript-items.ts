import type { SessionNode } from "./session-node.ts";

/** What an item of the transcript shows: who speaks, or what happened. */
type TranscriptKind =
  | "user"
  | "assistant"
  | "system"
  | "tool-result"
  | "bash"
  | "role"
  | "custom-message"
  | "compaction"
  | "branch-summary"
  | "marks"
  | "unknown";

/** One item of a transcript, known without opening any content. */
export interface TranscriptItem {
  readonly kind: TranscriptKind;
  /** The entry it is of, the first one of several marks. */
  readonly id: string;
  readonly node: SessionNode;
  /** Of an assistant's message: the results of its tool calls. Of marks: the entries, the first one included. */
  readonly moreIds: readonly string[];
}

const kindByRole: ReadonlyMap<string, TranscriptKind> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["toolResult", "tool-result"],
  ["bashExecution", "bash"],
]);

const kindByType: ReadonlyMap<string, TranscriptKind> = new Map([
  ["custom_message", "custom-message"],
  ["compaction", "compaction"],
  ["branch_summary", "branch-summary"],
  ["model_change", "marks"],
  ["thinking_level_change", "marks"],
  ["active_tools_change", "marks"],
  ["session_info", "marks"],
  ["custom", "marks"],
  ["usage", "marks"],
  ["context_edit", "marks"],
]);

/** Settings that follow each other are one item; more of them than this begin another. */
const maxMarks = 24;

/**
 * A branch (root first) as the items of a transcript: results of tools go with the message that called them, settings
 * that follow each other are one item, records that only move or label are left out, and unknown types are kept
 * (SPEC WB60). Items of `before` that have not changed stay the same objects.
 */
export function layOutTranscript(
  nodes: readonly SessionNode[],
  before: readonly TranscriptItem[] = [],
): readonly TranscriptItem[] {
  const items: { kind: TranscriptKind; node: SessionNode; moreIds: string[] }[] = [];
  /** The assistant's message that results go with; settings in between do not part them. */
  let calling: { moreIds: string[] } | undefined;
  for (const node of nodes) {
    if (node.type === "leaf" || node.type === "label") continue;
    const kind = itemKind(node);
    const last = items.at(-1);
    if (kind === "tool-result" && calling !== undefined) {
      calling.moreIds.push(node.id);
    } else if (kind === "marks" && last?.kind === "marks" && last.moreIds.length < maxMarks) {
      last.moreIds.push(node.id);
    } else {
      const item = { kind, node, moreIds: kind === "marks" ? [node.id] : [] };
      items.push(item);
      if (kind === "assistant") calling = item;
      else if (kind !== "marks") calling = undefined;
    }
  }
  return items.map(({ kind, node, moreIds }, index) => {
    const known = before[index];
    if (known?.node === node && known.kind === kind && isSameList(known.moreIds, moreIds)) return known;
    return { kind, id: node.id, node, moreIds };
  });
}

function itemKind({ type, role }: SessionNode): TranscriptKind {
  if (type === "message") return kindByRole.get(role ?? "") ?? "role";
  return kindByType.get(type) ?? "unknown";
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

/** The item that shows an entry: its own, or the message that its result goes with. -1: none does. */
export function findItemOf(items: readonly TranscriptItem[], entryId: string): number {
  return items.findIndex(({ id, moreIds }) => id === entryId || moreIds.includes(entryId));
}
