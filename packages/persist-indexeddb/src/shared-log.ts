import { CommitQueue } from "./commit-queue.ts";
import type { Connection } from "./connection.ts";
import { updatesTable } from "./layout.ts";
import { readLastKey } from "./transaction.ts";

/** What the open handles of one log in one store share: its database, where it stands, and who listens. */
export class SharedLog {
  readonly name: string;
  readonly connection: Connection;
  readonly queue: CommitQueue;
  #lastSeq: number;
  /** Greatest position known to have been given, also when the log is empty by now; 0: none is known. */
  #givenSeq: number;
  #handles = 0;
  readonly #listenersByHandle = new Map<object, Set<() => void>>();

  constructor(name: string, connection: Connection, lastSeq: number) {
    this.name = name;
    this.connection = connection;
    this.queue = new CommitQueue(connection, { keepsOrder: true });
    this.#lastSeq = lastSeq;
    this.#givenSeq = lastSeq;
  }

  /** Position of the last update as far as this store knows; 0 when the log is empty. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get isOpen(): boolean {
    return this.#handles > 0;
  }

  get hasListeners(): boolean {
    return this.#listenersByHandle.size > 0;
  }

  openHandle(): void {
    this.#handles++;
  }

  closeHandle(handle: object): void {
    this.#handles--;
    this.#listenersByHandle.delete(handle);
  }

  /** An update was appended through this handle. What stands between it and the last one known, others have appended. */
  noteOwn(seq: number, handle: object): void {
    // Of a log that was empty when it was opened it is not known where it goes on: rather told once too often.
    const isBehindForeign = seq > this.#givenSeq + 1;
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    this.#givenSeq = Math.max(this.#givenSeq, seq);
    this.#tell(isBehindForeign ? undefined : handle);
  }

  /** The log reaches as far as this, which another store may have caused. */
  noteForeign(lastSeq: number): void {
    if (lastSeq <= this.#givenSeq) return;
    this.#lastSeq = lastSeq;
    this.#givenSeq = lastSeq;
    this.#tell(undefined);
  }

  /** The log has been emptied; positions go on. */
  noteEmptied(): void {
    this.#lastSeq = 0;
  }

  /** Looks where the log ends. Appends whose transaction began before this call count. */
  async readLastSeq(): Promise<number> {
    const scope = { tables: [updatesTable], mode: "readonly" } as const;
    const lastSeq = await this.connection.transact(scope, (transaction) =>
      readLastKey(transaction.objectStore(updatesTable)),
    );
    this.noteForeign(lastSeq);
    return lastSeq;
  }

  /** Returns the function that stops it. */
  listen(handle: object, listener: () => void): () => void {
    const listeners = this.#listenersByHandle.get(handle) ?? new Set();
    this.#listenersByHandle.set(handle, listeners);
    // Wrapped, so that registering one function twice makes two registrations.
    const registration = (): void => listener();
    listeners.add(registration);
    return () => {
      listeners.delete(registration);
      if (listeners.size === 0 && this.#listenersByHandle.get(handle) === listeners)
        this.#listenersByHandle.delete(handle);
    };
  }

  /** Tells every handle but the one that caused it. */
  #tell(cause: object | undefined): void {
    for (const [handle, listeners] of this.#listenersByHandle) {
      if (handle === cause) continue;
      // A task of its own for each: a listener may append, and one that throws must not keep the others from hearing.
      for (const listener of listeners) queueMicrotask(listener);
    }
  }
}
