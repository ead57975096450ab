import { leafEffect } from "./device-leaf.ts";
import type { EntryNode } from "./entry-node.ts";

/**
 * Where a device goes on in a session: `own`, where it stands; `fast-forward`, at the end of what other devices have
 * added there since, if that is one line; `latest`, where the last work of all ended.
 */
export type ResumePolicy = "own" | "fast-forward" | "latest";

/** What resuming would do. */
export interface ResumePlan {
  /** `stay`: nothing to move to under the policy asked for. */
  readonly kind: "stay" | "fast-forward" | "latest";
  /** The leaf now; null: before the first entry. */
  readonly fromId: string | null;
  /** The leaf afterwards; the same as `fromId` for `stay`. */
  readonly toId: string | null;
  /** Entries that are passed on the way, `leaf` and `label` records not counted. 0 unless `kind` is `fast-forward`. */
  readonly entries: number;
  /** The devices that wrote them, each once, in the order of their entries; for `latest` the one that was last. */
  readonly deviceIds: readonly string[];
}

/** The tree as the decision sees it. */
export interface ResumeView {
  readonly deviceId: string;
  readonly leafId: string | null;
  /** Children in log order without `leaf` records; of null: the roots. */
  childrenOf(id: string | null): readonly EntryNode[];
  /** Whether a record came after the one that put this device on its leaf: a greater (`n`, position). */
  isLater(node: EntryNode): boolean;
  /** The last record of all whose effect is in the log. */
  lastNode(): EntryNode | undefined;
}

/** Decides where to go on; writes nothing. */
export function planResume(policy: ResumePolicy, view: ResumeView): ResumePlan {
  const stay: ResumePlan = { kind: "stay", fromId: view.leafId, toId: view.leafId, entries: 0, deviceIds: [] };
  if (policy === "fast-forward") return planFastForward(view) ?? stay;
  if (policy === "latest") return planLatest(view) ?? stay;
  return stay;
}

function planLatest(view: ResumeView): ResumePlan | undefined {
  const last = view.lastNode();
  if (last === undefined) return undefined;
  const toId = leafEffect(last);
  if (toId === view.leafId) return undefined;
  return { kind: "latest", fromId: view.leafId, toId, entries: 0, deviceIds: [last.deviceId] };
}

/** Walks down from the leaf; undefined as soon as something is in the way. */
function planFastForward(view: ResumeView): ResumePlan | undefined {
  const line: EntryNode[] = [];
  const seen = new Set<string | null>([view.leafId]);
  for (let next = findNext(view.leafId, view, seen); next !== undefined; next = findNext(next.id, view, seen)) {
    if (next === "fork" || next.deviceId === view.deviceId || !view.isLater(next)) return undefined;
    line.push(next);
  }
  const tip = line.at(-1);
  if (tip === undefined) return undefined;
  const deviceIds = [...new Set(line.map(({ deviceId }) => deviceId))];
  return { kind: "fast-forward", fromId: view.leafId, toId: tip.id, entries: line.length, deviceIds };
}

/** The one entry that goes on below `id`, looked for through `label` records, which are no work; undefined at the end. */
function findNext(id: string | null, view: ResumeView, seen: Set<string | null>): EntryNode | "fork" | undefined {
  let next: EntryNode | undefined;
  const pending = [...view.childrenOf(id)];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    // Parents that form a cycle lead back to where the walk came from.
    if (seen.has(node.id)) return "fork";
    seen.add(node.id);
    if (node.type === "label") pending.push(...view.childrenOf(node.id));
    else if (next !== undefined) return "fork";
    else next = node;
  }
  return next;
}
