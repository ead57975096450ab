/** Counts of a session tree as a slow, obvious reading of its lines gives them; nothing of the product is used. */
export interface TreeCounts {
  entries: number;
  roots: number;
  forks: number;
  leaves: number;
  depth: number;
}

interface PlainEntry {
  id: string;
  parentId: string | null;
  type: string;
}

/** Counts over entry lines in log order; `entries` counts `leaf` entries, the other counts leave them out. */
export function countTree(lines: readonly string[]): TreeCounts {
  const all = lines.map((line) => JSON.parse(line) as PlainEntry);
  const byId = new Map(all.map((entry) => [entry.id, entry]));
  const parentOf = (entry: PlainEntry): PlainEntry | undefined => {
    let parent = entry.parentId ? byId.get(entry.parentId) : undefined;
    while (parent?.type === "leaf") parent = parent.parentId ? byId.get(parent.parentId) : undefined;
    return parent;
  };
  const entries = all.filter(({ type }) => type !== "leaf");
  const childCounts = new Map<string, number>();
  let roots = 0;
  for (const entry of entries) {
    const parent = parentOf(entry);
    if (!entry.parentId) roots += 1;
    else if (parent !== undefined) childCounts.set(parent.id, (childCounts.get(parent.id) ?? 0) + 1);
  }
  const depthOf = (entry: PlainEntry): number => {
    const path = new Set<string>();
    for (let at: PlainEntry | undefined = entry; at !== undefined; at = parentOf(at)) {
      // A circle reaches no root, so no path ends in it.
      if (path.has(at.id)) return 0;
      path.add(at.id);
    }
    return path.size;
  };
  return {
    entries: all.length,
    roots,
    forks: [...childCounts.values()].filter((count) => count > 1).length,
    leaves: entries.filter(({ id }) => !childCounts.has(id)).length,
    depth: entries.reduce((deepest, entry) => Math.max(deepest, depthOf(entry)), 0),
  };
}
