/** What a copy watch asks and does. */
export interface CopyWatchOptions {
  /** This replica. */
  readonly replicaId: string;
  /** Whether a replica is one of this home. */
  readonly isRegistered: (replicaId: string) => Promise<boolean>;
  /** Takes another device id. */
  readonly onCopy: () => Promise<void>;
  /** A store that could not be read or written; the next change of the cursor tries again. */
  readonly onError: (error: unknown) => void;
  /** How long the replica that was opened first waits for the other to change, in ms. */
  readonly graceMs: number;
}

/**
 * Decides which of two folders with one device id takes another. Usually both notice, and the replica that was opened
 * later goes at once, so that the first need not. The later one does not notice when its folder was copied while the
 * first was open; then the first goes, after a while or when a second replica of the other folder comes along. The
 * order of replica ids only spares the wrong one a new name: whoever goes, the two are apart.
 */
export class CopyWatch {
  readonly #options: CopyWatchOptions;
  /** Replicas that need no look any more. */
  readonly #known = new Set<string>();
  readonly #strangers = new Set<string>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #isClosed = false;
  #isChanging = false;

  constructor(options: CopyWatchOptions) {
    this.#options = options;
  }

  /** Looks into a replica that shows itself under this device's id; `isShown` says whether it still does. */
  async check(replicaId: string, isShown: () => boolean): Promise<void> {
    if (this.#known.has(replicaId)) return;
    this.#known.add(replicaId);
    try {
      if (await this.#options.isRegistered(replicaId)) return;
      this.#strangers.add(replicaId);
      if (replicaId < this.#options.replicaId || this.#strangers.size > 1) await this.#change(isShown);
      else this.#changeLater(isShown);
    } catch (error) {
      this.#known.delete(replicaId);
      this.#options.onError(error);
    }
  }

  /** Stops waiting. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #changeLater(isShown: () => boolean): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#change(isShown).catch(this.#options.onError);
    }, this.#options.graceMs);
    this.#timers.add(timer);
  }

  async #change(isShown: () => boolean): Promise<void> {
    // Another replica of that folder, or it itself in another session, may have led to a change by now, or to one that
    // is under way: until every session has the new id, the other folder still seems to have the same.
    if (this.#isClosed || this.#isChanging || !isShown()) return;
    this.#isChanging = true;
    try {
      await this.#options.onCopy();
    } finally {
      this.#isChanging = false;
      this.#known.clear();
      this.#strangers.clear();
    }
  }
}
