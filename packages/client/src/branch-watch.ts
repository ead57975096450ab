import type { TreeChange, TreeNode } from "@coppice/core";
import type { YjsSessionStorage } from "@coppice/storage-yjs";
import type { BranchEvent } from "./workspace-types.ts";

/** What a branch watch looks at. */
export interface BranchWatchOptions {
  readonly sessionId: string;
  readonly storage: YjsSessionStorage;
  /** Whether an id is, or was, this device's. */
  readonly isOwnDevice: (deviceId: string) => boolean;
  readonly deviceNames: () => ReadonlyMap<string, string>;
  /** The workspace's own way of hearing of every session. */
  readonly onBranches: (branches: readonly BranchEvent[]) => void;
}

/** Tells who has made a session branch, while nobody here did anything. */
export class BranchWatch {
  readonly #options: BranchWatchOptions;
  readonly #listeners = new Set<(branches: readonly BranchEvent[]) => void>();

  constructor(options: BranchWatchOptions) {
    this.#options = options;
  }

  /** Calls the listener with the branches of each change that has some. Returns the function that stops it. */
  subscribe(listener: (branches: readonly BranchEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks at a change of the storage, right after it. */
  take({ added, remote }: TreeChange<TreeNode>): void {
    if (!remote) return;
    const { sessionId, storage, isOwnDevice, deviceNames, onBranches } = this.#options;
    const branches = storage
      .findNewBranches(added.map(({ id }) => id))
      .filter(({ deviceId }) => !isOwnDevice(deviceId))
      .map(({ entryId, parentId, deviceId }): BranchEvent => {
        const deviceName = deviceNames().get(deviceId);
        const named = deviceName === undefined ? {} : { deviceName };
        return { kind: "branch", sessionId, entryId, parentId, deviceId, ...named };
      });
    if (branches.length === 0) return;
    for (const listener of this.#listeners) listener(branches);
    onBranches(branches);
  }
}
