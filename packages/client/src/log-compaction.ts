import { SessionError, Slices, type UpdateLog } from "@coppice/core";
import { isSmall, manySmallUpdates, planMerge, type StoredSize } from "./merge-plan.ts";
import { mergeVerified } from "./merge-updates.ts";

/**
 * Merges the small updates of a device's log into chunks, in the background, so that the log loads quickly. A chunk
 * takes their place only after it has been shown to hold the same. Several processes may do so to one log: who finds
 * it changed by another leaves it alone until it is opened again.
 */
export class LogCompaction {
  readonly #log: UpdateLog;
  readonly #prepare: () => Promise<boolean>;
  #sizes: StoredSize[] = [];
  /** Noted since the last run. */
  #newSmallCount = 0;
  #isStopped = false;
  #running: Promise<void> | undefined;

  /** `prepare` keeps what merging would lose, durably; false: merging must wait for another day. */
  constructor(log: UpdateLog, prepare: () => Promise<boolean>) {
    this.#log = log;
    this.#prepare = prepare;
  }

  /** Takes note of an update of the log. */
  note(seq: number, bytes: number): void {
    if (this.#isStopped) return;
    this.#sizes.push({ seq, bytes });
    if (isSmall(bytes)) this.#newSmallCount++;
  }

  /** Merges what stands up to `lastSeq`, if that is worth it and nothing is being merged. */
  start(lastSeq: number): void {
    if (this.#isStopped || this.#running !== undefined || this.#newSmallCount < manySmallUpdates) return;
    this.#newSmallCount = 0;
    this.#running = this.#run(lastSeq).finally(() => {
      this.#running = undefined;
    });
  }

  /** Merges no more. */
  stop(): void {
    this.#isStopped = true;
    this.#sizes = [];
  }

  /** Stops; settles when the merge under way, if any, is done. Never rejects. */
  async close(): Promise<void> {
    this.stop();
    await this.#running;
  }

  async #run(lastSeq: number): Promise<void> {
    const slices = new Slices();
    try {
      await slices.next();
      if (!(await this.#prepare())) return;
      this.#sizes.sort((a, b) => a.seq - b.seq);
      let end = this.#sizes.findIndex(({ seq }) => seq > lastSeq);
      if (end === -1) end = this.#sizes.length;
      while (!this.#isStopped) {
        const plan = planMerge(this.#sizes.slice(0, end));
        if (plan === undefined || !(await this.#merge(plan.start, plan.end, slices))) return;
        end -= plan.end - plan.start - 1;
      }
    } catch (error) {
      // Merging is for speed alone. What is wrong with the disk shows where entries are saved.
      this.stop();
      if (!(error instanceof SessionError)) throw error;
    }
  }

  /** False when the log is not as it is known to be or cannot be merged. */
  async #merge(start: number, end: number, slices: Slices): Promise<boolean> {
    const sizes = this.#sizes.slice(start, end);
    const [first, last] = [sizes[0], sizes.at(-1)];
    if (first === undefined || last === undefined) return false;
    const updates: Uint8Array[] = [];
    for await (const { seq, update } of this.#log.read(first.seq - 1)) {
      const known = sizes[updates.length];
      if (known === undefined) break;
      if (seq !== known.seq || update.length !== known.bytes) {
        this.stop();
        return false;
      }
      updates.push(update);
      if (updates.length === sizes.length) break;
    }
    const merged = updates.length === sizes.length ? await mergeVerified(updates, slices) : undefined;
    if (merged === undefined || this.#isStopped) {
      this.stop();
      return false;
    }
    await this.#log.replaceRange(first.seq, last.seq, merged);
    if (!this.#isStopped) this.#sizes.splice(start, end - start, { seq: last.seq, bytes: merged.length });
    await slices.next();
    return true;
  }
}
