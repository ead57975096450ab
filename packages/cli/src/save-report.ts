import { SessionError } from "@coppice/core";
import { describeRefusal } from "./describe-status.ts";
import { relayWaitMs } from "./open-home.ts";
import type { Connected, OpenHome } from "./opened-home.ts";
import type { Output } from "./output.ts";

/** What a session and a workspace have in common for somebody who waits for the relay. */
export interface Acknowledgeable extends Connected {
  waitUntilAcknowledged(timeoutMs: number): Promise<boolean>;
}

/** Waits for acknowledgements on behalf of one command; all waits together take at most `relayWaitMs`. */
export class SaveReport {
  readonly #output: Output;
  readonly #opened: OpenHome;
  #restMs = relayWaitMs;
  #waitingEntries = 0;
  #refusal: string | undefined;

  constructor(output: Output, opened: OpenHome) {
    this.#output = output;
    this.#opened = opened;
  }

  /** Entries that are saved here and not known to be at the relay. */
  get waitingEntries(): number {
    return this.#waitingEntries;
  }

  /**
   * Waits until the relay has acknowledged everything of a session or of the workspace, as long as time is left, and
   * counts what it has not. Rejects `storage` when not even this device could save it.
   */
  async wait(replica: Acknowledgeable): Promise<void> {
    const startedMs = performance.now();
    const isAcknowledged = await this.#opened.waitFor(replica, replica.waitUntilAcknowledged(this.#restMs));
    this.#restMs = Math.max(0, this.#restMs - (performance.now() - startedMs));
    const status = replica.status();
    if (status.unsaved > 0) {
      throw new SessionError(
        "storage",
        `This device could not save it: ${status.local.state === "failed" ? status.local.reason : "the store does not answer"}.`,
      );
    }
    if (!isAcknowledged) this.#waitingEntries += status.pending;
    this.#refusal ??= describeRefusal(status);
  }

  /** Says in one line where what was written is now. */
  print(): void {
    this.#output.print(this.#describe());
  }

  #describe(): string {
    if (this.#opened.home.relay === undefined) return "saved here; this workspace has no relay";
    if (this.#waitingEntries === 0) return "saved here and at the relay";
    const entries = this.#waitingEntries === 1 ? "entry" : "entries";
    const why = this.#refusal === undefined ? "" : ` (${this.#refusal})`;
    return `saved here; ${this.#waitingEntries} ${entries} waiting for the relay${why}`;
  }
}
