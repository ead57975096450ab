import type { SharedSession } from "@coppice/client";

/**
 * Brings what a synchronous writer does, in its order, into a session: appends as exact JSON texts, and moves. What comes
 * while a write is under way goes with the next one. The first write that fails is the last: what would follow it could
 * stand below an entry that is not there.
 */
export class SessionWriter {
  readonly #shared: SharedSession;
  readonly #onError: (error: unknown) => void;
  #lines: string[] = [];
  /** Where to stand after these lines; undefined: at the last of them. */
  #move: { readonly leafId: string | null } | undefined;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(shared: SharedSession, onError: (error: unknown) => void) {
    this.#shared = shared;
    this.#onError = onError;
  }

  /** Throws what an earlier write failed with; nothing is taken then. */
  append(json: string): void {
    this.#throwFailure();
    this.#lines.push(json);
    // The entry says by its parent where it goes on; a move before it would only be noise.
    this.#move = undefined;
    this.#start();
  }

  /** Throws as `append`. */
  moveTo(leafId: string | null): void {
    this.#throwFailure();
    this.#move = { leafId };
    this.#start();
  }

  /** Settles when everything taken so far is on the disk; rejects with what a write failed with. */
  async settled(): Promise<void> {
    await this.#writing;
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #start(): void {
    this.#writing ??= this.#write().then(
      () => {
        this.#writing = undefined;
      },
      (error: unknown) => {
        this.#writing = undefined;
        this.#failure = { error };
        this.#onError(error);
      },
    );
  }

  async #write(): Promise<void> {
    // What is done in one turn, a move and the entry behind it, is taken together.
    await undefined;
    const { storage, session } = this.#shared;
    while (this.#lines.length > 0 || this.#move !== undefined) {
      const lines = this.#lines;
      const move = this.#move;
      this.#lines = [];
      this.#move = undefined;
      if (lines.length > 0) await storage.appendBatch(lines);
      if (move !== undefined && (await storage.getLeafId()) !== move.leafId) await session.moveTo(move.leafId);
    }
  }
}
