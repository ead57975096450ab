import { SessionError, TaskQueue, type UpdateStore } from "@coppice/core";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";
import type { DeletionOutcome } from "./request-deletion.ts";
import type { DeletionEvent } from "./workspace-types.ts";

/** A session that the list says is deleted. */
export interface DeletedSession {
  readonly sessionId: string;
  readonly roomId: string;
}

/** What is done about deleted sessions, and with what. */
export interface DeletedSessionsOptions {
  readonly store: Pick<UpdateStore, "readValue" | "writeValue">;
  /** As the list says at the moment. */
  readonly getDeleted: () => Iterable<DeletedSession>;
  /** Records of the session that are on this device and, as far as it knows, nowhere else. */
  readonly countUnsent: (session: DeletedSession) => Promise<number>;
  /** Asks the relay to delete the room; absent: there is no relay. */
  readonly requestDeletion?: ((session: DeletedSession, signal: AbortSignal) => Promise<DeletionOutcome>) | undefined;
  /** Waits end when the relay could not be reached. Default false. */
  readonly endWaitsWhenUnreachable?: boolean | undefined;
  /** Told once on this device for each session. */
  readonly onNoticed: (event: DeletionEvent) => void;
  /** First wait before a relay that could not be reached is asked again, in ms; it doubles. Default 5,000. */
  readonly retryDelayMs?: number | undefined;
}

const firstRetryDelayMs = 5_000;
const longestRetryDelayMs = 300_000;

/** What this device knows of a deletion, and has done about it. */
interface Progress {
  readonly unsent: number;
  /** The relay has said that the room is deleted. */
  readonly isConfirmed: boolean;
}

const format: DeviceValueFormat = { version: 1, what: "What this device knows of a deleted session" };
const deletionKey = (roomId: string): string => `deleted/${roomId}`;

/**
 * Carries out what the list says: a deletion is a record there, and every device that reads it sees to it, once, that
 * the relay deletes the room, however long that takes. What is on this device stays; how much of it is nowhere else is
 * counted before anything could be sent, so that a late writer is told (SPEC WS75-WS78).
 */
export class DeletedSessions {
  readonly #options: DeletedSessionsOptions;
  readonly #progressById = new Map<string, Progress>();
  /** Rooms that the relay refuses to delete; asked again by the next process. */
  readonly #refusedIds = new Set<string>();
  readonly #queue = new TaskQueue();
  readonly #waiters = new Set<() => void>();
  readonly #closing = new AbortController();
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #retryDelayMs: number;
  #isLookDue = false;
  #isReachable = true;
  #working: Promise<void> = Promise.resolve();

  constructor(options: DeletedSessionsOptions) {
    this.#options = options;
    this.#retryDelayMs = options.retryDelayMs ?? firstRetryDelayMs;
  }

  /** Records on this device alone; undefined while that has not been counted. */
  unsentOf(sessionId: string): number | undefined {
    return this.#progressById.get(sessionId)?.unsent;
  }

  /** A session that is deleted has been open here, and this many of its records are on this device alone. */
  noteUnsent({ sessionId, roomId }: DeletedSession, unsent: number): void {
    const progress = this.#progressById.get(sessionId);
    if (progress === undefined || progress.unsent === unsent) return;
    this.#progressById.set(sessionId, { ...progress, unsent });
    this.#queue
      .run(() => this.#write({ sessionId, roomId }, { ...(this.#progressById.get(sessionId) ?? progress), unsent }))
      // What was counted before stands then: too low by what was written since, and the session itself tells.
      .catch(() => undefined);
  }

  /** The list may say something else, or the relay may be there again. */
  look(): void {
    if (this.#isLookDue || this.#closing.signal.aborted) return;
    this.#isLookDue = true;
    clearTimeout(this.#retryTimer);
    this.#working = this.#queue.run(() => this.#work());
  }

  /** True once the relay has said that the room is deleted, within `timeoutMs`; false at once when it refuses or is not there. */
  waitUntilConfirmed(sessionId: string, timeoutMs: number): Promise<boolean> {
    const isConfirmed = (): boolean => this.#progressById.get(sessionId)?.isConfirmed === true;
    if (isConfirmed() || this.#options.requestDeletion === undefined) return Promise.resolve(isConfirmed());
    this.#retryDelayMs = this.#options.retryDelayMs ?? firstRetryDelayMs;
    this.look();
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve(isConfirmed());
      };
      const check = (): void => {
        const isOver = this.#refusedIds.has(sessionId) || this.#closing.signal.aborted;
        const isAway = this.#options.endWaitsWhenUnreachable === true && !this.#isReachable;
        if (isConfirmed() || isOver || isAway) finish();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.#waiters.add(check);
    });
  }

  /** Asks no more; what is left is done by the next process. Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retryTimer);
    this.#tellWaiters();
    await this.#working;
    await this.#queue.idle();
  }

  async #work(): Promise<void> {
    this.#isLookDue = false;
    let isLeft = false;
    this.#isReachable = true;
    for (const session of [...this.#options.getDeleted()]) {
      if (this.#closing.signal.aborted) return;
      try {
        if (!(await this.#carryOut(session))) isLeft = true;
      } catch (error) {
        // The store's failure shows in the status of whoever writes; the record in the list is the lasting intent.
        if (!(error instanceof SessionError)) throw error;
        isLeft = true;
      }
    }
    this.#tellWaiters();
    if (!isLeft || this.#isLookDue || this.#closing.signal.aborted) return;
    this.#retryTimer = setTimeout(() => this.look(), this.#retryDelayMs);
    this.#retryDelayMs = Math.min(2 * this.#retryDelayMs, longestRetryDelayMs);
  }

  /** False: it is to be tried again. */
  async #carryOut(session: DeletedSession): Promise<boolean> {
    const { sessionId } = session;
    const progress = this.#progressById.get(sessionId) ?? (await this.#notice(session));
    const { requestDeletion } = this.#options;
    if (progress.isConfirmed || requestDeletion === undefined || this.#refusedIds.has(sessionId)) return true;
    // Who does not answer for one room does not for the next: that would be a wait for each.
    if (!this.#isReachable) return false;
    const outcome = await requestDeletion(session, this.#closing.signal);
    this.#isReachable = outcome !== "unreachable";
    if (outcome === "unreachable") return false;
    if (outcome === "refused") this.#refusedIds.add(sessionId);
    else await this.#write(session, { ...progress, isConfirmed: true });
    this.#tellWaiters();
    return true;
  }

  async #notice(session: DeletedSession): Promise<Progress> {
    const { store, countUnsent, onNoticed } = this.#options;
    const { sessionId, roomId } = session;
    const fields = decodeDeviceValue(format, await store.readValue(deletionKey(roomId)));
    const known = fields && toProgress(fields);
    if (known !== undefined) {
      this.#progressById.set(sessionId, known);
      return known;
    }
    const progress: Progress = { unsent: await countUnsent(session), isConfirmed: false };
    await this.#write(session, progress);
    onNoticed({ kind: "deleted", sessionId, unsent: progress.unsent });
    return progress;
  }

  async #write({ sessionId, roomId }: DeletedSession, { unsent, isConfirmed }: Progress): Promise<void> {
    await this.#options.store.writeValue(deletionKey(roomId), encodeDeviceValue(format, { unsent, isConfirmed }));
    this.#progressById.set(sessionId, { unsent, isConfirmed });
  }

  #tellWaiters(): void {
    for (const check of [...this.#waiters]) check();
  }
}

function toProgress({ unsent, isConfirmed }: { readonly [field: string]: unknown }): Progress | undefined {
  if (typeof unsent !== "number" || typeof isConfirmed !== "boolean") return undefined;
  return { unsent, isConfirmed };
}
