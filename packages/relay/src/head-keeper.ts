import type { UpdateLog } from "@coppice/core";
import type { Logger } from "pino";
import { encodeLogHead, type LogHead, logHeadName, readLogHead } from "./log-head.ts";

/** What the keeper reads off a room's log. */
export type LogContent = Omit<LogHead, "updatedAtMs">;

/**
 * How old the kept time may be after a crash, ms. A busy room writes its head this often and no more: with each update
 * it would double what a small append costs.
 */
const writeIntervalMs = 10_000;

/**
 * Keeps the head of a room that is in memory: when something was last stored in it, and a copy beside the log for
 * the time when the room is not in memory. The copy shares the commit of the update that is its reason.
 */
export class HeadKeeper {
  readonly #log: UpdateLog;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #readContent: () => LogContent;
  #updatedAtMs = 0;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  /** The position of which the kept head speaks. */
  #keptUpTo = 0;

  /** @param name the room's, for the relay's own report */
  constructor(log: UpdateLog, name: string, logger: Logger, readContent: () => LogContent) {
    this.#log = log;
    this.#name = name;
    this.#logger = logger;
    this.#readContent = readContent;
  }

  /** Takes over the time that was kept. Rejects when the log cannot be read. */
  async load(): Promise<void> {
    const head = await readLogHead(this.#log);
    this.#updatedAtMs = head?.updatedAtMs ?? 0;
    this.#keptUpTo = head?.upTo ?? 0;
  }

  /** The head as it is now. */
  get head(): LogHead {
    return { ...this.#readContent(), updatedAtMs: this.#updatedAtMs };
  }

  /** An update is being appended, in this turn. */
  noteAppend(): void {
    const nowMs = performance.now();
    if (nowMs - this.#writtenAtMs < writeIntervalMs) return;
    this.#writtenAtMs = nowMs;
    this.#write({ ...this.#readContent(), updatedAtMs: Date.now() });
  }

  /** An update is durable. */
  noteStored(): void {
    this.#updatedAtMs = Date.now();
  }

  /** Writes the head down if the kept one is out of date; waits for nothing. */
  keep(): void {
    const { head } = this;
    if (head.upTo !== this.#keptUpTo) this.#write(head);
  }

  /** Not waited for: a head that is missing costs a reading of the room's index. */
  #write(head: LogHead): void {
    this.#keptUpTo = head.upTo;
    this.#log.writeDerived(logHeadName, encodeLogHead(head)).catch((error: unknown) => {
      this.#logger.debug({ room: this.#name, err: error }, "the head of a room was not written");
    });
  }
}
