import { SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import type { ArrivalOrder, LogRecord } from "@coppice/storage-yjs";
import { closeCodes, type RoomHead, type Sha256, type Struct } from "@coppice/wire";
import { Awareness } from "y-protocols/awareness";
import * as Y from "yjs";
import { applyStoredUpdate } from "./apply-stored-update.ts";
import { ArrivalKeeper, type ArrivalStore } from "./arrival-keeper.ts";
import { type Coverage, coverageSlot, decodeCoverage, encodeCoverage } from "./coverage.ts";
import { DurableQueue, type OwnRange, type QueuedUpdate } from "./durable-queue.ts";
import { messageOf } from "./error-message.ts";
import { type ClockVector, readHeldClocks } from "./held-records.ts";
import { LogCompaction } from "./log-compaction.ts";
import { defaultTimings, RelayLink, type RelayLinkEvent } from "./relay-link.ts";
import type { RandomSource } from "./retry-delay.ts";
import { createDoc, findFirstClocks, leaveOut, splitStructs, toLogRecords } from "./set-aside.ts";
import { SetAsideKeeper } from "./set-aside-keeper.ts";
import { nextSyncState, openedState, type SyncEvent, type SyncState, type SyncStatus } from "./sync-status.ts";
import { TokenGate } from "./token-gate.ts";
import type { RelayLinkTimings, WebSocketConstructor } from "./workspace-types.ts";

/** What a replica of one room stands on. */
export interface OpenReplicaOptions {
  /** The room's local log; closed with the replica. */
  readonly log: UpdateLog;
  readonly roomId: string;
  /** Where the order of arrival is kept once updates of the log have been merged. Absent: the log is never merged. */
  readonly arrivals?: ArrivalStore | undefined;
  /** Address of the relay; absent: offline. */
  readonly relay?: string | undefined;
  readonly webSocket?: WebSocketConstructor | undefined;
  readonly timings?: Partial<RelayLinkTimings> | undefined;
  /** Shared by the replicas of a workspace. Default: one that has no tokens. */
  readonly tokenGate?: TokenGate | undefined;
  /** Default `Math.random`. */
  readonly random?: RandomSource | undefined;
  /** Waits end when an attempt to connect has failed. Default false. */
  readonly endWaitsWhenUnreachable?: boolean;
  /** This device's durable values: where records are set aside (SPEC CL42). Absent: contested history is final. */
  readonly values?: Pick<UpdateStore, "readValue" | "writeValue"> | undefined;
  /** Hashes the records that acknowledgements speak of. Default: one that runs everywhere. */
  readonly sha256?: Sha256 | undefined;
  /** Yjs client id to begin with; default a random one. Taken only while the log holds no record of it. */
  readonly clientId?: number | undefined;
}

const retryDelayMs = 1_000;

/** A relay that has other records at the places of ours again and again would keep us writing for ever. */
const maxRebuilds = 8;

/** Who reads a replica's records. */
export interface ReplicaReader {
  /**
   * The room has another document from now on. Moves to it at once, and appends these records again, at new places, as
   * far as what they say is not in it. Returns those that it cannot open.
   */
  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[];
}

/**
 * One open copy of a room: a document, its local log and its socket. Order of every record made here: document, local
 * log durable, then sent (SPEC CL1). The socket is opened by `connect`, after the log is loaded (SPEC CL3).
 */
export class Replica {
  readonly #options: OpenReplicaOptions;
  readonly #queue: DurableQueue;
  readonly #coverage: Coverage;
  readonly #compaction: LogCompaction;
  readonly #arrivals: ArrivalKeeper;
  readonly #setAside: SetAsideKeeper;
  readonly #listeners = new Set<() => void>();
  readonly #stopWatchingLog: () => void;
  #doc: Y.Doc = new Y.Doc();
  #awareness: Awareness | undefined;
  #reader: ReplicaReader | undefined;
  #rebuilds = 0;
  #rebuilding: Promise<void> = Promise.resolve();
  #link: RelayLink | undefined;
  #hasLeft = false;
  readonly #headsListeners = new Set<(heads: readonly RoomHead[]) => void>();
  #state: SyncState = openedState;
  /** Every update up to this position of the log is in the document. */
  #appliedSeq = 0;
  /** Positions after `#appliedSeq` that hold updates of this very replica. */
  readonly #ownSeqs = new Set<number>();
  #pulling: Promise<void> = Promise.resolve();
  #readTimer: ReturnType<typeof setTimeout> | undefined;
  #coverageSaved: Promise<void> | undefined;
  #isCoverageStale = false;
  #closing: Promise<void> | undefined;

  private constructor(
    options: OpenReplicaOptions,
    coverage: Coverage,
    arrivals: ArrivalKeeper,
    setAside: SetAsideKeeper,
  ) {
    this.#options = options;
    this.#coverage = coverage;
    this.#arrivals = arrivals;
    this.#setAside = setAside;
    this.#compaction = new LogCompaction(options.log, () => arrivals.write(() => this.#queue.firstUnsavedClocks()));
    if (options.clientId !== undefined) this.doc.clientID = options.clientId;
    this.#queue = new DurableQueue(options.log, {
      saved: (update, seq, own) => this.#onSaved(update, seq, own),
      health: (error) => {
        this.#tell(error === undefined ? { type: "writeWorks" } : { type: "writeFailed", reason: error.message });
      },
    });
    this.#stopWatchingLog = options.log.onForeignAppend(() => {
      void this.#pull();
    });
  }

  /** Opens the room's local copy; settles when its log is loaded. Nothing is sent before `connect`. */
  static async open(options: OpenReplicaOptions): Promise<Replica> {
    const { log } = options;
    let replica: Replica | undefined;
    try {
      const [coverage, arrivals] = await Promise.all([
        log.readDerived(coverageSlot),
        ArrivalKeeper.open(options.arrivals),
      ]);
      const setAside = await SetAsideKeeper.open(options);
      replica = new Replica(options, decodeCoverage(coverage, options.sha256), arrivals, setAside);
      arrivals.forget(setAside.firstClocks);
      arrivals.follow(replica.#doc);
      await replica.#pull();
      const { local } = replica.#state;
      if (local.state === "failed") throw new SessionError("storage", local.reason);
      // Only now: who listens makes Yjs encode every update again, and what comes from the log is of interest to nobody.
      replica.#listenTo(replica.#doc);
      replica.#compact();
      return replica;
    } catch (error) {
      // What was wrong first is what the caller must hear.
      await Promise.allSettled([replica?.close() ?? log.close()]);
      throw error;
    }
  }

  /** The document. Another one takes its place when records have to be set aside: its reader is told. */
  get doc(): Y.Doc {
    return this.#doc;
  }

  /** In which order the document's records arrived on this device. */
  get arrivals(): ArrivalOrder {
    return this.#arrivals.order;
  }

  /**
   * Says who reads this replica: to be called before `connect`. Records that a process before this one set aside and
   * did not get to write again are handed over at once. Settles when they are durable.
   */
  async attach(reader: ReplicaReader): Promise<void> {
    this.#reader = reader;
    const { records } = this.#setAside;
    if (records.length === 0) return;
    const unreadable = reader.rebase(this.#doc, records);
    await this.#finishRebuild(unreadable);
  }

  /** The cursors of the room; this replica's own is unset until somebody sets it. */
  get awareness(): Awareness {
    if (this.#awareness === undefined) {
      // Made after the log is loaded: Yjs takes another client id when the log holds records of the one it drew.
      this.#awareness = new Awareness(this.doc);
      this.#awareness.setLocalState(null);
    }
    return this.#awareness;
  }

  /** Opens the socket, once. Without a relay it does nothing. */
  connect(): void {
    const { relay, roomId, timings, random = Math.random } = this.#options;
    if (relay === undefined || this.#link !== undefined || this.#hasLeft || this.#closing !== undefined) return;
    const webSocket = this.#options.webSocket ?? globalThis.WebSocket;
    if (webSocket === undefined)
      throw new SessionError("unknown", "This runtime has no WebSocket; pass the class of the `ws` package.");
    this.#link = new RelayLink({
      relay,
      roomId,
      doc: this.doc,
      awareness: this.awareness,
      coverage: this.#coverage,
      webSocket,
      random,
      tokenGate: this.#options.tokenGate ?? new TokenGate({ random, timeoutMs: defaultTimings.resendAfterMs }),
      countPending: () => this.#countPending(),
      countUnsaved: () => this.#queue.unsavedRecords(),
      firstUnsavedClocks: () => this.#queue.firstUnsavedClocks(),
      flushed: () => this.flushed(),
      onEvent: (event) => this.#onLinkEvent(event),
      ...(timings === undefined ? {} : { timings }),
    });
  }

  /** Asks the relay what it has of rooms; see `RelayLink.askHeads`. */
  askHeads(rooms: readonly string[]): boolean {
    return this.#link?.askHeads(rooms) ?? false;
  }

  /** Calls the listener with what the relay says of rooms. Returns the function that stops it. */
  subscribeHeads(listener: (heads: readonly RoomHead[]) => void): () => void {
    this.#headsListeners.add(listener);
    return () => this.#headsListeners.delete(listener);
  }

  /** Leaves the relay for good, or never connects, as if it had refused the room with this code. Safe to call twice. */
  leave(code: number, reason: string): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#closeLink();
    this.#tell({ type: "refused", code, reason });
  }

  /** Compares with the relay now; without a connection it tries at once to get one. */
  resync(): void {
    this.#link?.resync();
  }

  /**
   * Deletes the room at the relay, for everybody and for good. True when the relay has said so within `timeoutMs`, now
   * or before; the records here stay.
   */
  async deleteRoom(secret: Uint8Array, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    const isDeleted = ({ relay }: SyncStatus): boolean =>
      relay.state === "refused" && relay.code === closeCodes.roomDeleted;
    await this.waitFor((status) => hasContact(status) || isDeleted(status), timeoutMs);
    this.#link?.deleteRoom(secret);
    return this.waitFor(isDeleted, Math.max(0, deadlineMs - performance.now()));
  }

  /** Settles when everything the document holds is durable here; rejects with the storage's error. */
  flushed(): Promise<void> {
    return this.#queue.flushed();
  }

  /** Settles when what other processes have written to the log so far is in the document; rejects `storage`. */
  async readNewest(): Promise<void> {
    await this.#pull();
    const { local } = this.#state;
    if (local.state === "failed" && local.cause === "read") throw new SessionError("storage", local.reason);
  }

  /** Data derived from the room's records that is kept beside its log; it may vanish at any time. */
  readDerived(name: string): Promise<Uint8Array | undefined> {
    return this.#options.log.readDerived(name);
  }

  /** Settles when it is written. */
  writeDerived(name: string, data: Uint8Array): Promise<void> {
    return this.#options.log.writeDerived(name, data);
  }

  /** The status now; every field comes from durable writes and acknowledgements. */
  status(): SyncStatus {
    const { outcome } = this.#setAside;
    return Object.freeze({
      ...this.#state,
      pending: this.#countPending(),
      ...(outcome === undefined ? {} : { setAside: outcome }),
    });
  }

  #countPending(): number {
    const held = readHeldClocks(this.doc);
    for (const [client, clock] of this.#queue.firstUnsavedClocks()) held.set(client, clock);
    return this.#coverage.countPending(held);
  }

  /** Calls the listener after the status may have changed. Returns the function that stops it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** True when `isReached` holds within `timeoutMs`; false at once when no relay can ever make it true. */
  waitFor(isReached: (status: SyncStatus) => boolean, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (reached: boolean): void => {
        clearTimeout(timer);
        stop();
        resolve(reached);
      };
      const check = (): void => {
        const status = this.status();
        if (isReached(status)) finish(true);
        else if (isFinal(status) || this.#options.relay === undefined) finish(false);
        else if (this.#options.endWaitsWhenUnreachable && this.#link !== undefined && status.relay.state === "offline")
          finish(false);
      };
      const timer = setTimeout(() => finish(false), timeoutMs);
      const stop = this.subscribe(check);
      check();
    });
  }

  /** True when everything here is durable and acknowledged by a relay that is in step, within `timeoutMs`. */
  waitUntilAcknowledged(timeoutMs: number): Promise<boolean> {
    return this.waitFor(
      ({ relay, pending, unsaved }) => relay.state === "live" && pending === 0 && unsaved === 0,
      timeoutMs,
    );
  }

  /** Takes the cursor down, closes the socket, saves what is unsaved, releases the log. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopWatchingLog();
    clearTimeout(this.#readTimer);
    this.#closeLink();
    await this.#pulling;
    try {
      await this.#queue.close();
    } finally {
      await this.#compaction.close();
      await this.#rebuilding;
      await this.#coverageSaved;
      await this.#writeCoverage();
      this.#awareness?.destroy();
      this.doc.destroy();
      await this.#options.log.close();
    }
  }

  #listenTo(doc: Y.Doc): void {
    doc.on("update", (update, origin, _doc, transaction) => this.#onUpdate(update, origin, transaction));
  }

  #onUpdate(update: Uint8Array, origin: unknown, transaction: Y.Transaction): void {
    if (this.#awareness !== undefined && this.#awareness.clientID !== this.doc.clientID)
      this.#moveCursor(this.#awareness);
    if (origin === this.#options.log) {
      this.#link?.send(update);
    } else {
      const own = transaction.local ? ownRangeOf(transaction) : undefined;
      this.#queue.push({ update, firstClocks: firstClocksOf(transaction), own });
    }
    this.#tellUnsaved();
  }

  /**
   * Somebody wrote under this replica's client id, so Yjs took a new one. The cursor must follow, on a connection of its
   * own, since the relay binds cursors to connections; whoever shows it sets it again (SPEC CL13).
   */
  #moveCursor(awareness: Awareness): void {
    awareness.setLocalState(null);
    awareness.clientID = this.doc.clientID;
    this.#link?.reconnect();
  }

  #onSaved(update: Uint8Array, seq: number, own: OwnRange | undefined): void {
    if (seq === this.#appliedSeq + 1) this.#appliedSeq = seq;
    else if (seq > this.#appliedSeq) this.#ownSeqs.add(seq);
    this.#compaction.note(seq, update.length);
    this.#compact();
    if (own !== undefined) this.#link?.send(update);
    this.#tellUnsaved();
  }

  /** Applies what the log holds beyond `#appliedSeq`: at opening everything, later what other processes wrote. */
  #pull(): Promise<void> {
    this.#pulling = this.#pulling.then(async () => {
      try {
        for await (const { seq, update } of this.#options.log.read(this.#appliedSeq)) {
          // One that stands behind a gap is a chunk: another process has merged, and more than our own may be in it.
          const isOwn = this.#ownSeqs.delete(seq) && seq === this.#appliedSeq + 1;
          if (!isOwn) {
            applyStoredUpdate(this.doc, update, this.#options.log);
            this.#compaction.note(seq, update.length);
          }
          this.#appliedSeq = seq;
        }
        for (const seq of this.#ownSeqs) if (seq <= this.#appliedSeq) this.#ownSeqs.delete(seq);
        clearTimeout(this.#readTimer);
        this.#tell({ type: "readWorks" });
      } catch (error) {
        this.#noteReadFailure(`The local log cannot be read: ${messageOf(error)}`);
      }
    });
    return this.#pulling;
  }

  #compact(): void {
    if (this.#arrivals.isKept && this.#closing === undefined) this.#compaction.start(this.#appliedSeq);
  }

  /** A log that cannot be read is tried again: what other processes wrote must not wait for their next entry. */
  #noteReadFailure(reason: string): void {
    clearTimeout(this.#readTimer);
    if (this.#closing === undefined) this.#readTimer = setTimeout(() => void this.#pull(), retryDelayMs);
    this.#tell({ type: "readFailed", reason });
  }

  #onLinkEvent(event: RelayLinkEvent): void {
    if (event.type === "heads") for (const listener of this.#headsListeners) listener(event.heads);
    else if (event.type === "contested") this.#startRebuild(event.from);
    else if (event.type === "coverage") {
      this.#saveCoverage();
      this.#notify();
    } else this.#tell(event);
  }

  #startRebuild(from: ClockVector): void {
    this.#rebuilding = this.#rebuild(from).catch((error: unknown) => {
      this.#onLinkEvent({ type: "refused", code: closeCodes.conflictingHistory, reason: messageOf(error) });
    });
  }

  /**
   * The relay has other records from these clocks on. Ours give way: in one turn they are taken out of the document and
   * appended again to a new one, so that nobody ever sees a session without them; then the disk follows (SPEC CL42).
   */
  async #rebuild(from: ClockVector): Promise<void> {
    this.#closeLink();
    // What other processes have written belongs to it.
    await this.#pull();
    if (this.#closing !== undefined) return;
    const reader = this.#reader;
    this.#rebuilds += 1;
    if (reader === undefined || !this.#setAside.isAvailable || this.#rebuilds > maxRebuilds) {
      const reason = "the relay has other records where this replica has its own";
      this.#onLinkEvent({ type: "refused", code: closeCodes.conflictingHistory, reason });
      return;
    }
    const { kept, removed } = splitStructs(this.#doc, from);
    const firstClocks = findFirstClocks(removed);
    for (const [client, clock] of firstClocks) this.#coverage.lower(client, clock);
    this.#arrivals.forget(firstClocks);
    this.#setAside.add(removed);
    const usedIds = new Set([...this.#setAside.firstClocks.keys(), ...from.keys()]);
    const oldDoc = this.#doc;
    this.#doc = createDoc(kept, (client) => usedIds.has(client) || oldDoc.store.clients.has(client));
    this.#arrivals.follow(this.#doc);
    this.#listenTo(this.#doc);
    this.#queue.restart(
      () => this.#moveAside(),
      (queued) => rewriteWithout(queued, removed),
    );
    this.#awareness?.destroy();
    this.#awareness = undefined;
    const unreadable = reader.rebase(this.#doc, toLogRecords(removed));
    oldDoc.destroy();
    this.#saveCoverage();
    this.#tellUnsaved();
    await this.#finishRebuild(unreadable);
    this.connect();
  }

  /** The disk follows the document. Repeated until it succeeds. */
  async #moveAside(): Promise<void> {
    // A chunk that is being made of the records would bring them back.
    await this.#compaction.close();
    await this.#setAside.moveOut();
    await this.#arrivals.rewrite();
  }

  /** Once what was written again is durable, what was set aside has done its work. */
  async #finishRebuild(unreadable: readonly LogRecord[]): Promise<void> {
    this.#setAside.noteHandedOver(unreadable);
    for (;;) {
      try {
        await this.#queue.flushed();
        await this.#setAside.finish(unreadable);
        break;
      } catch {
        // The queue reports a disk that cannot be written and tries again; so do we. At worst the next opening finds what
        // was set aside, and that everything in it has been written.
        if (this.#closing !== undefined) return;
        await new Promise((resolve) => setTimeout(resolve, retryDelayMs));
      }
    }
    this.#notify();
  }

  #closeLink(): void {
    this.#link?.close();
    this.#link = undefined;
    this.#tell({ type: "disconnect" });
  }

  /**
   * Written with the records it speaks of, in the same turn and so in the same commit: a process that is killed must not
   * leave records that came from the relay looking as if they waited for it (SPEC CL5). One write at a time.
   */
  #saveCoverage(): void {
    this.#isCoverageStale = true;
    this.#coverageSaved ??= this.#writeCoverage().finally(() => {
      this.#coverageSaved = undefined;
      if (this.#isCoverageStale) this.#saveCoverage();
    });
  }

  async #writeCoverage(): Promise<void> {
    this.#isCoverageStale = false;
    try {
      await this.#options.log.writeDerived(coverageSlot, encodeCoverage(this.#coverage));
    } catch {
      // Derived data may be missing at any time: it costs one question to the relay. A disk that is full shows where
      // entries are saved, and the next acknowledgement writes the coverage again.
    }
  }

  #tellUnsaved(): void {
    this.#tell({ type: "counted", unsaved: this.#queue.unsavedRecords() });
  }

  #tell(event: SyncEvent): void {
    this.#state = nextSyncState(this.#state, event);
    // Also when the state is the same: what is pending is counted when somebody asks.
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The relay has said something on the connection that is open. */
function hasContact({ relay }: SyncStatus): boolean {
  return relay.state === "live" || relay.state === "catching-up";
}

/** No waiting helps. */
function isFinal({ relay }: SyncStatus): boolean {
  return relay.state === "refused" || relay.state === "too-old";
}

/** What of an update is still to be saved when these records have left the document. */
function rewriteWithout(
  { update, firstClocks, own }: QueuedUpdate,
  removed: readonly Struct[],
): QueuedUpdate | undefined {
  const kept = leaveOut(update, removed);
  if (kept === undefined || own === undefined) return kept && { update: kept, firstClocks, own };
  const clocks = removed.flatMap(({ client, clock }) => (client === own.client ? [clock] : []));
  const to = clocks.reduce((least, clock) => Math.min(least, clock), own.to);
  return { update: kept, firstClocks, own: to > own.from ? { ...own, to } : undefined };
}

/** Where the records that a transaction has added begin, by client id. */
function firstClocksOf({ beforeState, afterState }: Y.Transaction): ClockVector {
  const clocks = new Map<number, number>();
  for (const [client, to] of afterState) {
    const from = beforeState.get(client) ?? 0;
    if (to > from) clocks.set(client, from);
  }
  return clocks;
}

/** This replica's own records in a transaction, by clock. */
function ownRangeOf(transaction: Y.Transaction): OwnRange | undefined {
  const client = transaction.doc.clientID;
  const from = transaction.beforeState.get(client) ?? 0;
  const to = transaction.afterState.get(client) ?? 0;
  return to > from ? { client, from, to } : undefined;
}
