import type { SessionTree } from "@coppice/core";

/**
 * What is known of an entry without opening its content. Not to be changed by whoever gets it; the same object as long as
 * the same record of the log is shown for the entry.
 */
export interface SessionNode {
  readonly id: string;
  /** null or an empty string: a root. */
  readonly parentId: string | null;
  readonly type: string;
  /** ISO 8601, by the clock of the device that wrote it. */
  readonly timestamp: string;
  /** Of `message`. */
  readonly role?: string | undefined;
  /** Of `leaf`, `label` and `context_edit`. */
  readonly targetId?: string | null | undefined;
  /** Of `label`; absent or blank takes the label away. */
  readonly label?: string | undefined;
  /** Of `session_info`; absent or blank clears the name. */
  readonly name?: string | undefined;
  /** Device that wrote the record. */
  readonly deviceId: string;
  /** Length of the entry's JSON text in bytes. */
  readonly jsonBytes: number;
}

/**
 * A session's tree for looking at: what `SessionTree` of `@coppice/core` says of each member, as the session is at each
 * call. Nothing of it opens the content of an entry. SPEC YS160.
 */
export type SessionTreeView = Readonly<
  Pick<
    SessionTree<SessionNode>,
    | "size"
    | "get"
    | "has"
    | "nodes"
    | "children"
    | "tips"
    | "waiting"
    | "parentOf"
    | "pathToRoot"
    | "depth"
    | "label"
    | "sessionName"
    | "byType"
  >
>;

/** Shows the tree that `getTree` gives at each call: a storage may have to make its index anew. */
export class LiveTreeView implements SessionTreeView {
  readonly #getTree: () => SessionTree<SessionNode>;

  constructor(getTree: () => SessionTree<SessionNode>) {
    this.#getTree = getTree;
  }

  get size(): number {
    return this.#getTree().size;
  }

  get(id: string): SessionNode | undefined {
    return this.#getTree().get(id);
  }

  has(id: string): boolean {
    return this.#getTree().has(id);
  }

  nodes(): readonly SessionNode[] {
    return this.#getTree().nodes();
  }

  children(id: string | null): SessionNode[] {
    return this.#getTree().children(id);
  }

  tips(): SessionNode[] {
    return this.#getTree().tips();
  }

  waiting(): SessionNode[] {
    return this.#getTree().waiting();
  }

  parentOf(node: SessionNode): SessionNode | undefined {
    return this.#getTree().parentOf(node);
  }

  pathToRoot(id: string | null): SessionNode[] {
    return this.#getTree().pathToRoot(id);
  }

  depth(id: string): number {
    return this.#getTree().depth(id);
  }

  label(id: string): string | undefined {
    return this.#getTree().label(id);
  }

  sessionName(): string | undefined {
    return this.#getTree().sessionName();
  }

  byType(type: string): SessionNode[] {
    return this.#getTree().byType(type);
  }
}
