import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { GivenLine } from "./protocol.ts";

/** What of pi's session manager is read. */
export type PiSessionManager = Pick<
  ExtensionContext["sessionManager"],
  "getEntries" | "getEntry" | "getLeafId" | "getSessionFile" | "getSessionId"
> & {
  /** pi 1.6 counts without copying; absent in others. */
  getEntryCount?: () => number;
};

/** What is new in pi's memory. */
export interface PiChange {
  /** In order of appending. */
  readonly newIds: readonly string[];
  readonly leafId: string | null;
}

/**
 * pi's session in memory, seen as a list that only grows and a leaf. pi tells no extension of an append, so it is looked
 * at again and again; a look that finds nothing costs no more than a count.
 */
export class PiSessionView {
  readonly #manager: PiSessionManager;
  #seenCount = 0;
  #seenLeafId: string | null | undefined;

  constructor(manager: PiSessionManager) {
    this.#manager = manager;
  }

  /** Everything there is; what comes later is a change. */
  takeAll(): { readonly ids: readonly string[]; readonly leafId: string | null } {
    this.#seenCount = 0;
    const { newIds, leafId } = this.#take();
    return { ids: newIds, leafId };
  }

  /** What has changed since the last call; undefined: nothing. */
  takeChange(): PiChange | undefined {
    return this.isUnchanged() ? undefined : this.#take();
  }

  /** Whether nothing has changed since the last call. */
  isUnchanged(): boolean {
    const count = this.#manager.getEntryCount?.() ?? this.#manager.getEntries().length;
    return count === this.#seenCount && this.#manager.getLeafId() === this.#seenLeafId;
  }

  /** Exact texts of entries as pi writes them. */
  textsOf(ids: readonly string[]): GivenLine[] {
    return ids.flatMap((id) => {
      const entry = this.#manager.getEntry(id);
      return entry === undefined ? [] : [{ id, json: JSON.stringify(entry) }];
    });
  }

  /** The entries among `ids` that pi's memory does not have. */
  withoutKnown(ids: readonly string[]): string[] {
    return ids.filter((id) => this.#manager.getEntry(id) === undefined);
  }

  #take(): PiChange {
    const entries = this.#manager.getEntries();
    const newIds = entries.slice(this.#seenCount).map(({ id }) => id);
    this.#seenCount = entries.length;
    const leafId = this.#manager.getLeafId();
    this.#seenLeafId = leafId;
    return { newIds, leafId };
  }
}
