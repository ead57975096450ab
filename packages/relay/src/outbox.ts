import { type AckPair, chunkStructs, encodeFrame, encodeUpdate, type StateVector } from "@coppice/wire";
import type { Broadcast } from "./broadcast.ts";
import { type ClientSocket, type ClientTransport, openState } from "./client-socket.ts";
import type { RelayLimits } from "./relay-limits.ts";
import type { Room } from "./room.ts";

const emptyUpdate = encodeUpdate([]);
/** An awareness frame that says nothing: proof of life for clients that cannot be pinged. */
const keepAliveFrame = encodeFrame({ type: "awareness", states: [] });

/**
 * What one connection still has to get. Not a queue of frames but a list of debts (a position in the log, clients to
 * acknowledge, cursors to show), turned into frames only while the socket takes them: a slow reader lags, costs the same
 * memory however far behind it is, and misses nothing.
 */
export class Outbox {
  readonly #socket: ClientSocket;
  readonly #transport: ClientTransport;
  readonly #room: Room;
  readonly #limits: RelayLimits;
  readonly #self: object;
  readonly #onReadFailure: (error: unknown) => void;
  #position: number | undefined;
  #catchUpFrom: StateVector | undefined;
  // Made when something is due: most connections are idle most of the time, and an empty set is 200 bytes.
  #acksDue: Set<number> | undefined;
  #cursorsDue: Set<number> | undefined;
  #isAckAnswerDue = false;
  #givesChecks = false;
  #isDigestDue = false;
  #isMissingAsked = false;
  #isReading = false;
  #isClosed = false;
  #onWritable: (() => void) | undefined;

  /**
   * @param transport the stream beneath the socket; it alone tells when its buffer is empty again
   * @param self the member whose own updates and cursor are not sent back
   * @param onReadFailure called when the log could not be read; nothing more will be sent
   */
  constructor(
    socket: ClientSocket,
    transport: ClientTransport,
    room: Room,
    limits: RelayLimits,
    self: object,
    onReadFailure: (error: unknown) => void,
  ) {
    this.#socket = socket;
    this.#transport = transport;
    this.#room = room;
    this.#limits = limits;
    this.#self = self;
    this.#onReadFailure = onReadFailure;
    transport.on("drain", this.#handleDrain);
  }

  /** Position of the last stored update this reader needs no more; undefined before its first SyncStep1. */
  get position(): number | undefined {
    return this.#position;
  }

  /** Answers a SyncStep1. One that is waiting is replaced: the newer vector says all. */
  catchUp(vector: StateVector): void {
    this.#catchUpFrom = vector;
    this.flush();
  }

  /** Notes whom to acknowledge; sent with the next `flush`, so that one group commit gives one frame. */
  acknowledge(clients: Iterable<number>): void {
    for (const client of clients) {
      this.#acksDue ??= new Set();
      this.#acksDue.add(client);
    }
  }

  /**
   * Answers a request for acknowledgements, also when there is nothing to acknowledge. `givesChecks`: from now on with
   * checks, for a client that knows what they are of.
   */
  answerAckRequest(clients: Iterable<number>, givesChecks: boolean): void {
    this.#isAckAnswerDue = true;
    this.#givesChecks = givesChecks;
    this.acknowledge(clients);
    this.flush();
  }

  /** Sends these clients' cursors, as they are when the socket takes them. */
  showCursors(clients: Iterable<number>): void {
    const own = this.#room.cursors.clientOf(this.#self);
    for (const client of clients) {
      if (client === own) continue;
      this.#cursorsDue ??= new Set();
      this.#cursorsDue.add(client);
    }
    this.flush();
  }

  /** Tells the room's digest, once this reader has got all the room has. */
  answerDigest(): void {
    this.#isDigestDue = true;
    this.flush();
  }

  /** Sends a draft, or not at all: false when the socket has too much to send already. */
  sendDraft(draft: Broadcast): boolean {
    // Before its first SyncStep1 a reader knows nothing that a draft could belong to.
    if (this.#isClosed || this.#position === undefined) return true;
    if (this.#socket.bufferedAmount > this.#limits.maxBufferedBytesForDrafts) return false;
    this.#sendBroadcast(draft);
    return true;
  }

  /** Asks for what the relay lacks. */
  askForMissing(): void {
    this.#isMissingAsked = true;
    this.flush();
  }

  /** Sends a small answer at once, or not at all while the socket is full. */
  sendNotice(frame: Uint8Array): void {
    if (!this.#isClosed && !this.#isCongested) this.#send(frame);
  }

  /** Shows that the relay is alive; a socket with something in its buffer shows it anyway. */
  keepAlive(): void {
    this.sendNotice(keepAliveFrame);
  }

  /** Sends what is due as long as the socket takes it. */
  flush(): void {
    // All frames of one flush leave in one system call, which is most of what sending a small frame costs.
    this.#transport.cork();
    while (!this.#isClosed && !this.#isReading && !this.#isCongested && this.#sendNext());
    this.#transport.uncork();
  }

  close(): void {
    this.#isClosed = true;
    this.#transport.off("drain", this.#handleDrain);
    this.#onWritable?.();
  }

  readonly #handleDrain = (): void => {
    this.#onWritable?.();
    this.flush();
  };

  get #isCongested(): boolean {
    return this.#socket.bufferedAmount > this.#limits.maxBufferedBytes;
  }

  #send(frame: Uint8Array): void {
    if (this.#socket.readyState === openState) this.#socket.send(frame);
  }

  #sendBroadcast(broadcast: Broadcast): void {
    if (this.#socket.readyState === openState) this.#socket.sendBroadcast(broadcast);
  }

  /** Sends the next thing that is due; false when nothing is. */
  #sendNext(): boolean {
    if (this.#acksDue !== undefined || this.#isAckAnswerDue) this.#sendAcks(this.#acksDue ?? []);
    else if (this.#catchUpFrom !== undefined) this.#startCatchUp(this.#catchUpFrom);
    else if (this.#position !== undefined && this.#position < this.#room.log.headSeq) this.#sendLog(this.#position);
    else if (this.#isDigestDue) this.#sendDigest();
    else if (this.#isMissingAsked) this.#sendSyncStep1();
    else if (this.#cursorsDue !== undefined) this.#sendCursors(this.#cursorsDue);
    else return false;
    return true;
  }

  #sendAcks(clients: Iterable<number>): void {
    const pairs: AckPair[] = [];
    const { index } = this.#room.log;
    for (const client of clients) {
      pairs.push({ client, clock: index.held(client), check: this.#givesChecks ? index.checkOf(client) : null });
    }
    this.#acksDue = undefined;
    this.#isAckAnswerDue = false;
    this.#send(encodeFrame({ type: "ack", pairs }));
  }

  #sendDigest(): void {
    this.#isDigestDue = false;
    this.#send(encodeFrame({ type: "digest", digest: this.#room.log.digest }));
  }

  #sendSyncStep1(): void {
    this.#isMissingAsked = false;
    this.#send(encodeFrame({ type: "syncStep1", stateVector: this.#room.log.index.toStateVector() }));
  }

  #sendCursors(clients: ReadonlySet<number>): void {
    for (const broadcast of this.#room.cursors.encodeFrames(clients)) this.#sendBroadcast(broadcast);
    this.#cursorsDue = undefined;
  }

  #sendLog(position: number): void {
    const recent = this.#room.recent.get(position + 1);
    if (recent === undefined) {
      this.#read(() => this.#readLagging(position));
      return;
    }
    if (recent.sender !== this.#self) this.#sendBroadcast(recent.broadcast);
    this.#position = recent.seq;
  }

  /** Runs one reading task at a time; what becomes due meanwhile is sent after it. */
  #read(task: () => Promise<void>): void {
    this.#isReading = true;
    const endReading = this.#room.log.startReading();
    task().then(
      () => {
        endReading();
        this.#isReading = false;
        this.flush();
      },
      (error: unknown) => {
        endReading();
        if (!this.#isClosed) this.#onReadFailure(error);
      },
    );
  }

  async #readLagging(position: number): Promise<void> {
    const upTo = this.#room.log.headSeq;
    const seqs = this.#room.log.index.seqsAfter(position);
    for (let next = 0; next < seqs.length; ) {
      const slice = await this.#room.log.readSlice(seqs, next, () => true);
      for (const { update } of chunkStructs(slice.structs)) await this.#sendUpdate(update);
      if (this.#isClosed) return;
      next = slice.next;
      this.#position = seqs[next - 1] ?? upTo;
    }
    this.#position = upTo;
  }

  #startCatchUp(vector: StateVector): void {
    this.#catchUpFrom = undefined;
    const upTo = this.#room.log.headSeq;
    const seqs = this.#room.log.index.seqsBeyond(vector);
    if (seqs.length === 0) this.#finishCatchUp(emptyUpdate, upTo);
    else this.#read(() => this.#readCatchUp(vector, seqs, upTo));
  }

  async #readCatchUp(vector: StateVector, seqs: readonly number[], upTo: number): Promise<void> {
    // The last chunk goes as SyncStep2. Which one that is shows in the last slice, so only there one is held back.
    let held: Uint8Array | undefined;
    for (let next = 0; next < seqs.length; ) {
      const slice = await this.#room.log.readSlice(
        seqs,
        next,
        ({ client, clock }) => clock >= (vector.get(client) ?? 0),
      );
      for (const { update } of chunkStructs(slice.structs)) {
        if (held !== undefined) await this.#sendUpdate(held);
        if (this.#isClosed) return;
        held = update;
      }
      next = slice.next;
      if (held === undefined || next === seqs.length) continue;
      await this.#sendUpdate(held);
      if (this.#isClosed) return;
      held = undefined;
    }
    this.#finishCatchUp(held ?? emptyUpdate, upTo);
  }

  /** Sends an update when the socket takes it. */
  async #sendUpdate(update: Uint8Array): Promise<void> {
    await this.#writable();
    if (!this.#isClosed) this.#send(encodeFrame({ type: "update", update }));
  }

  #finishCatchUp(update: Uint8Array, upTo: number): void {
    this.#send(encodeFrame({ type: "syncStep2", update }));
    // The relay's own question: what a client wrote while it was offline comes only as an answer to this.
    this.#sendSyncStep1();
    this.#position = Math.max(this.#position ?? 0, upTo);
    this.showCursors(this.#room.cursors.present());
  }

  /** Settles when the socket takes more, or when there is no use in waiting. */
  async #writable(): Promise<void> {
    while (this.#isCongested && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#onWritable = resolve;
      });
      this.#onWritable = undefined;
    }
  }
}
