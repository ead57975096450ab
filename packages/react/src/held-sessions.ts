import type { SharedSession, SyncStatus, Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import type { ChangeFeed } from "./change-feed.ts";

/** A session that a component wants to have open. */
export type SessionState =
  /** It is being read from this device; or it is not in the list yet, and the list is just being fetched. */
  | { readonly state: "opening" }
  | { readonly state: "open"; readonly session: SharedSession }
  /**
   * It cannot be opened. `not_found` (the workspace has no such session) and `not_synced` (this device does not know it, and
   * is not connected) end by themselves when the list has it; `retry` tries anything again.
   */
  | { readonly state: "failed"; readonly error: SessionError; readonly retry: () => void };

type WorkspaceFeed = ChangeFeed<"sessions" | "status" | "device">;

const opening: SessionState = Object.freeze({ state: "opening" });

/** The sessions of a workspace that components hold open, each once however many hold it. */
export class HeldSessions {
  readonly #workspace: Workspace;
  readonly #feed: WorkspaceFeed;
  readonly #heldById = new Map<string, HeldSession>();

  constructor(workspace: Workspace, feed: WorkspaceFeed) {
    this.#workspace = workspace;
    this.#feed = feed;
  }

  /** The one of this id; nothing is opened before somebody subscribes to it. */
  get(sessionId: string): HeldSession {
    let held = this.#heldById.get(sessionId);
    if (held === undefined) {
      held = new HeldSession(this.#workspace, this.#feed, sessionId);
      this.#heldById.set(sessionId, held);
    }
    return held;
  }
}

/**
 * One session between its holders: opened for the first, and closed some time after the last, so that whoever comes back
 * at once (StrictMode, or a person) finds it as it was. What waits for the relay keeps it open. SPEC RE10 to RE14.
 */
export class HeldSession {
  readonly #workspace: Workspace;
  readonly #feed: WorkspaceFeed;
  readonly #sessionId: string;
  readonly #listeners = new Set<() => void>();
  #state: SessionState = opening;
  /** Counts attempts to open: what an earlier one leads to is nobody's any more. */
  #attempt = 0;
  #isOpening = false;
  #stopWatching: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #stopClosing: (() => void) | undefined;

  constructor(workspace: Workspace, feed: WorkspaceFeed, sessionId: string) {
    this.#workspace = workspace;
    this.#feed = feed;
    this.#sessionId = sessionId;
  }

  /** Never one that is closed, whoever has closed it. */
  readonly getState = (): SessionState =>
    this.#state.state === "open" && this.#state.session.isClosed ? opening : this.#state;

  /** Holds the session open until the returned function is called, and for `keepOpenMs` longer. */
  hold(listener: () => void, keepOpenMs: number): () => void {
    // A wrapper of its own: two holders may have one listener.
    const call = (): void => listener();
    this.#listeners.add(call);
    this.#stopClosing?.();
    this.#stopClosing = undefined;
    if (this.#listeners.size === 1) {
      this.#stopWatching = this.#feed.subscribe(["status"], () => this.#openAgain());
      // Also when it is open: somebody else may have closed it while nobody here held it.
      this.#open();
    }
    return () => {
      if (!this.#listeners.delete(call) || this.#listeners.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
      this.#closeAfter(keepOpenMs);
    };
  }

  /** Somebody may have closed what components show: then it is opened anew for them. */
  #openAgain(): void {
    if (this.#state.state !== "open" || !this.#state.session.isClosed) return;
    this.#set(opening);
    this.#open();
  }

  #open(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    const attempt = ++this.#attempt;
    this.#isOpening = true;
    this.#workspace.openSession(this.#sessionId).then(
      (session) => {
        if (attempt !== this.#attempt) return;
        this.#isOpening = false;
        if (this.#state.state !== "open" || this.#state.session !== session) this.#set({ state: "open", session });
        if (this.#isGivenUp()) this.#close();
      },
      (error: unknown) => {
        if (attempt !== this.#attempt) return;
        this.#isOpening = false;
        if (this.#isGivenUp()) return;
        this.#fail(toSessionError(error));
      },
    );
  }

  #fail(error: SessionError): void {
    if (error.code !== "not_found") {
      this.#setFailed(error);
      return;
    }
    this.#stopWaiting = this.#feed.subscribe(["sessions", "status"], () => this.#look(error));
    this.#look(error);
  }

  /** Of a session that is not listed: whether it is by now, or may be soon. */
  #look(error: SessionError): void {
    const { relay } = this.#workspace.status();
    if (this.#workspace.listSessions({ deleted: true }).some(({ id }) => id === this.#sessionId)) this.#open();
    else if (relay.state === "live") this.#setFailed(error);
    else if (relay.state === "connecting" || relay.state === "catching-up") this.#set(opening);
    else
      this.#setFailed(
        new SessionError(
          "not_synced",
          `This device does not know session ${this.#sessionId} yet and is not connected; it opens once the list has it.`,
          { cause: error },
        ),
      );
  }

  #setFailed(error: SessionError): void {
    const state = this.#state;
    if (state.state === "failed" && state.error.code === error.code && state.error.message === error.message) return;
    const retry = (): void => {
      if (this.#state.state !== "failed" || this.#state.retry !== retry) return;
      this.#set(opening);
      this.#open();
    };
    this.#set({ state: "failed", error, retry });
  }

  #set(state: SessionState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  #closeAfter(keepOpenMs: number): void {
    this.#stopClosing = () => undefined;
    if (keepOpenMs === Number.POSITIVE_INFINITY) return;
    const timer = setTimeout(() => {
      this.#stopClosing = undefined;
      this.#close();
    }, keepOpenMs);
    this.#stopClosing = () => clearTimeout(timer);
  }

  /** Nobody holds it any more, and the time to come back is over. */
  #isGivenUp(): boolean {
    return this.#listeners.size === 0 && this.#stopClosing === undefined;
  }

  /** Nobody holds it any more: closes it once it is open and nothing of it waits for the relay. */
  #close(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    if (this.#isOpening) return;
    const state = this.#state;
    if (state.state === "open") {
      const { session } = state;
      if (this.#mayBeSent(session.status())) {
        this.#closeOnceSent(session);
        return;
      }
      void session.close();
    }
    this.#state = opening;
  }

  #closeOnceSent(session: SharedSession): void {
    const stop = session.subscribe((change) => {
      if (change !== "status" || this.#mayBeSent(session.status())) return;
      stop();
      this.#stopClosing = undefined;
      this.#close();
    });
    this.#stopClosing = stop;
  }

  /** Whether something waits that an open session would still send. */
  #mayBeSent({ pending, unsaved, relay }: SyncStatus): boolean {
    if (pending + unsaved === 0) return false;
    // Without a relay, and of a deleted session, nothing will ever be sent.
    if (relay.state === "offline" && relay.reason === undefined) return false;
    return !this.#workspace
      .listSessions({ deleted: true })
      .some(({ id, deleted }) => id === this.#sessionId && deleted);
  }
}

function toSessionError(error: unknown): SessionError {
  if (error instanceof SessionError) return error;
  return new SessionError("unknown", error instanceof Error ? error.message : String(error), { cause: error });
}
