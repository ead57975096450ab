import type { StoredUpdate, UpdateLog } from "@coppice/core";

/** An update log in memory whose commits can be held back: what a slow disk looks like to its user. */
export class PlainLog implements UpdateLog {
  readonly updates: Uint8Array[] = [];
  readonly #derived = new Map<string, Uint8Array>();
  #gate: Promise<void> = Promise.resolve();
  #openGate: () => void = () => undefined;

  /** Commits wait until `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#openGate = resolve;
    });
  }

  release(): void {
    this.#openGate();
  }

  async append(update: Uint8Array): Promise<number> {
    await this.#gate;
    return this.updates.push(update);
  }

  async *read(after = 0): AsyncIterable<StoredUpdate> {
    for (const [at, update] of this.updates.slice(after).entries()) yield { seq: after + at + 1, update };
  }

  lastSeq(): number {
    return this.updates.length;
  }

  async replaceRange(): Promise<void> {
    throw new Error("not used here");
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    return this.#derived.get(name);
  }

  async writeDerived(name: string, data: Uint8Array): Promise<void> {
    this.#derived.set(name, data);
  }

  onForeignAppend(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {}
}
