import { SessionError } from "@coppice/core";
import type { OpenedSession } from "./shared-session.ts";

/** Opens a session; what it is given is to be called when the session begins to close. */
type OpenSession = (sessionId: string, onClosing: (closing: Promise<void>) => void) => Promise<OpenedSession>;

/** The sessions of a workspace that are open in this process: each once, and anew after it was closed. SPEC WS9. */
export class OpenSessions {
  readonly #openNow: OpenSession;
  readonly #openedById = new Map<string, Promise<OpenedSession>>();
  readonly #opened = new Set<OpenedSession>();
  readonly #closingById = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(openNow: OpenSession) {
    this.#openNow = openNow;
  }

  /** Whether a session is open or being opened. */
  has(sessionId: string): boolean {
    return this.#openedById.has(sessionId);
  }

  /** The session while it is open; one that is being closed is opened anew once its log is free. */
  open(sessionId: string): Promise<OpenedSession> {
    if (this.#isClosed)
      // Nobody would close it: its socket would keep the process alive.
      return Promise.reject(new SessionError("closed", "The workspace is closed; open it again to open a session."));
    const open = this.#openedById.get(sessionId);
    if (open !== undefined) return open;
    const opening = this.#openWhenClosed(sessionId);
    this.#openedById.set(sessionId, opening);
    opening.catch(() => this.#openedById.delete(sessionId));
    return opening;
  }

  /** Those that are open or being opened now, each once it is open; one that could not be opened is left out. */
  async *all(): AsyncGenerator<OpenedSession> {
    for (const opening of [...this.#openedById.values()]) {
      // Whoever opens it hears of that.
      const session = await opening.catch(() => undefined);
      if (session !== undefined) yield session;
    }
  }

  /** Those that are open by now. */
  get opened(): ReadonlySet<OpenedSession> {
    return this.#opened;
  }

  /** Closes them all, and opens nothing more from the call on. Rejects with the first failure, after all were closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closing: Promise<void>[] = [];
    for (const opening of this.#openedById.values())
      closing.push(
        opening.then(
          (session) => session.close(),
          // One that could not be opened has nothing to close, and whoever opens it hears of that.
          () => undefined,
        ),
      );
    const closed = await Promise.allSettled(closing);
    const failed = closed.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #openWhenClosed(sessionId: string): Promise<OpenedSession> {
    await this.#closingById.get(sessionId);
    const session = await this.#openNow(sessionId, (closing) => {
      this.#opened.delete(session);
      this.#forgetClosing(sessionId, closing);
    });
    this.#opened.add(session);
    return session;
  }

  #forgetClosing(sessionId: string, closing: Promise<void>): void {
    this.#openedById.delete(sessionId);
    const closed = closing
      // Whoever closes hears of a failure; who opens again only waits for the end.
      .catch(() => undefined)
      .then(() => {
        if (this.#closingById.get(sessionId) === closed) this.#closingById.delete(sessionId);
      });
    this.#closingById.set(sessionId, closed);
  }
}
