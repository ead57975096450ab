import type { LogHead } from "./lmdb-tables.ts";

/** What the handles of one log in this process share: where it stands, and who listens. */
export class SharedLog {
  readonly name: string;
  #head: LogHead;
  #handles = 0;
  /** Made with the first listener. */
  #listenersByHandle: Map<object, Set<() => void>> | undefined;

  constructor(name: string, head: LogHead) {
    this.name = name;
    this.#head = head;
  }

  /** Position of the last update as far as this process knows; 0 when the log is empty. */
  get lastSeq(): number {
    return this.#head.isEmpty ? 0 : this.#head.lastSeq;
  }

  get isOpen(): boolean {
    return this.#handles > 0;
  }

  openHandle(): void {
    this.#handles++;
  }

  closeHandle(handle: object): void {
    this.#handles--;
    this.#listenersByHandle?.delete(handle);
  }

  /** Takes over a head; tells every handle but the one that caused it when something was appended. */
  update(head: LogHead, cause?: object): void {
    const isLonger = head.lastSeq > this.#head.lastSeq;
    this.#head = head;
    if (!isLonger || this.#listenersByHandle === undefined) return;
    for (const [handle, listeners] of this.#listenersByHandle) {
      if (handle === cause) continue;
      // A task of its own for each: a listener may append, and one that throws must not keep the others from hearing.
      for (const listener of listeners) queueMicrotask(listener);
    }
  }

  /** Returns the function that stops it. */
  listen(handle: object, listener: () => void): () => void {
    this.#listenersByHandle ??= new Map();
    const listeners = this.#listenersByHandle.get(handle) ?? new Set();
    this.#listenersByHandle.set(handle, listeners);
    // Wrapped, so that registering one function twice makes two registrations.
    const registration = (): void => listener();
    listeners.add(registration);
    return () => {
      listeners.delete(registration);
    };
  }
}
