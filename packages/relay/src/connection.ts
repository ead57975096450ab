import { SessionError } from "@coppice/core";
import {
  type CloseReason,
  closeCodes,
  encodeFrame,
  type Frame,
  type FrameError,
  maxClientsPerUpdate,
  maxRoomsPerRequest,
  parseFrame,
  protocolVersion,
  type RoomHead,
} from "@coppice/wire";
import type { Logger } from "pino";
import type { RawData } from "ws";
import type { Refusal } from "./authorize.ts";
import { type Broadcast, prepareBroadcast } from "./broadcast.ts";
import type { ClientSocket, ClientTransport } from "./client-socket.ts";
import { type DraftBudget, spendOnDraft } from "./draft-budget.ts";
import { decideGapRequest, type GapRequests, noGapRequests } from "./gap-requests.ts";
import { Inbox } from "./inbox.ts";
import { Outbox } from "./outbox.ts";
import { type RateBudget, spend } from "./rate-budget.ts";
import type { RelayLimits } from "./relay-limits.ts";
import type { RelayCounters } from "./relay-stats.ts";
import type { RoomChanges, RoomMember } from "./room-member.ts";
import type { RoomLease } from "./rooms.ts";
import { TurnBudget } from "./turn-budget.ts";

/** What a connection is made of. */
export interface ConnectionOptions {
  readonly socket: ClientSocket;
  /** The stream beneath the socket. */
  readonly transport: ClientTransport;
  readonly limits: RelayLimits;
  readonly counters: RelayCounters;
  readonly logger: Logger;
  /** The room asked for, for the relay's own report; undefined when the address names none. */
  readonly roomName: string | undefined;
  /** Decides whether the connection is let in, and into which room. Rejects when the room cannot be opened. */
  readonly enter: () => Promise<RoomLease | Refusal>;
  /** Tells what there is of any room. Never rejects. */
  readonly readHead: (room: string) => Promise<RoomHead>;
}

/** A close reason has at most 123 bytes (RFC 6455 section 5.5). Ours are ASCII. */
const maxCloseReasonChars = 120;

/** "An endpoint is going away" (RFC 6455 section 7.4.1): every client takes it for a restart. */
const goingAwayCode = 1001;

/**
 * A reader on a slow line answers a ping only after all that was sent before it. With the default interval it may take
 * ten minutes; memory is bounded however long it takes.
 */
const maxPingsBehindBacklog = 20;

const reasonByFrameError: Readonly<Record<Exclude<FrameError, "awareness_too_big" | "draft_too_big">, CloseReason>> = {
  too_big: "frameTooBig",
  unknown_type: "unknownFrame",
  malformed: "badFrame",
};

/**
 * One client's websocket, from the upgrade to the end. Frames are taken from the first moment on, but handled only
 * when the connection has been let in and its room is there.
 */
export class Connection implements RoomMember {
  readonly #socket: ClientSocket;
  readonly #transport: ClientTransport;
  readonly #limits: RelayLimits;
  readonly #counters: RelayCounters;
  readonly #logger: Logger;
  readonly #roomName: string | undefined;
  readonly #inbox: Inbox;
  #lease: RoomLease | undefined;
  #outbox: Outbox | undefined;
  #isClosed = false;
  #unansweredPings = 0;
  #bytesReadAtPing = 0;
  #gaps: GapRequests = noGapRequests;
  #gapTimer: NodeJS.Timeout | undefined;
  #claimTimer: NodeJS.Timeout | undefined;
  /** Whether this client understands our own frames; stock clients print an error for each. */
  #isCoppiceClient = false;
  /** Clients it wants to hear of; undefined: none. Most connections have none, and a set is 200 bytes. */
  #namedClients: ReadonlySet<number> | undefined;
  /** Something this client sent was not taken, because the disk was full. */
  #isOwed = false;
  #draftBudget: DraftBudget | undefined;
  #headsBudget: RateBudget | undefined;
  readonly #readHead: ConnectionOptions["readHead"];

  constructor({ socket, transport, limits, counters, logger, roomName, enter, readHead }: ConnectionOptions) {
    this.#socket = socket;
    this.#transport = transport;
    this.#limits = limits;
    this.#counters = counters;
    this.#logger = logger;
    this.#roomName = roomName;
    this.#readHead = readHead;
    this.#inbox = new Inbox(socket, limits.maxQueuedBytes);
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("pong", () => {
      this.#unansweredPings = 0;
    });
    // ws closes the connection itself after an error; without a listener the process would end.
    socket.on("error", (error) => logger.debug({ room: roomName, err: error }, "a connection failed"));
    socket.on("close", () => this.#leave());
    enter().then(
      (entered) => this.#enter(entered),
      (error: unknown) => this.#refuseAfterFailure(error),
    );
  }

  #enter(entered: RoomLease | Refusal): void {
    if ("reason" in entered) {
      this.refuse(entered);
      return;
    }
    if (this.#isClosed) {
      entered.release();
      return;
    }
    const { room } = entered;
    const onReadFailure = (error: unknown): void => this.#refuseAfterFailure(error);
    this.#lease = entered;
    this.#outbox = new Outbox(this.#socket, this.#transport, room, this.#limits, this, onReadFailure);
    room.join(this);
    this.#inbox.start((bytes) => this.#handle(bytes));
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#isClosed) return;
    if (!isBinary) this.refuse({ reason: "textFrame", message: "text messages are not part of the protocol" });
    else this.#inbox.push(toPlainBytes(data as Buffer));
  }

  async #handle(bytes: Uint8Array): Promise<void> {
    const parsed = parseFrame(bytes);
    try {
      if (parsed.ok) await this.#handleFrame(parsed.value);
      else if (parsed.error === "awareness_too_big") this.#dropCursors(1, "a cursor has at most 16 KiB");
      else if (parsed.error === "draft_too_big") this.#dropDraft("a draft has at most 64 KiB");
      else this.refuse({ reason: reasonByFrameError[parsed.error], message: `frame refused: ${parsed.error}` });
    } catch (error) {
      this.#refuseAfterFailure(error);
    }
  }

  async #handleFrame(frame: Frame): Promise<void> {
    const lease = this.#lease;
    const outbox = this.#outbox;
    if (lease === undefined || outbox === undefined) return;
    switch (frame.type) {
      case "syncStep1":
        outbox.catchUp(frame.stateVector);
        break;
      case "syncStep2":
      case "update":
        await this.#deliver(lease, frame.update);
        break;
      case "awareness":
        this.#dropCursors(lease.room.receiveCursors(this, frame.states));
        break;
      case "queryAwareness":
        outbox.keepAlive();
        outbox.showCursors(lease.room.cursors.present());
        break;
      case "ackRequest":
        this.#handleAckRequest(lease, frame.version, frame.clients);
        break;
      case "digest":
        this.#isCoppiceClient = true;
        outbox.answerDigest();
        break;
      case "draft":
        this.#isCoppiceClient = true;
        this.#shareDraft(lease, frame.sealed);
        break;
      case "deleteRoom":
        this.#isCoppiceClient = true;
        await this.#deleteRoom(lease, frame.secret);
        break;
      case "headsRequest":
        this.#isCoppiceClient = true;
        await this.#tellHeads(outbox, frame.rooms);
        break;
      case "unknownExtension":
        this.#isCoppiceClient = true;
        this.#notify("unknownFrame", `this relay does not know message 67/${frame.subType}`);
        break;
      default:
        this.refuse({ reason: "unknownFrame", message: `a relay does not take ${frame.type} frames` });
    }
  }

  async #deliver({ room }: RoomLease, update: Uint8Array): Promise<void> {
    const delivered = await room.deliver(this, update);
    if (!delivered.ok) this.refuse(delivered.error);
    else if (delivered.value.isRefused) this.#noteRefused();
    else if (delivered.value.hasGap) this.#handleGap();
  }

  /** A client that understands it is told; all are asked for it once there is space. */
  #noteRefused(): void {
    if (this.#isOwed) return;
    this.#isOwed = true;
    this.#notify("storageFull", "the relay's disk is full; it asks for this again when there is space");
  }

  askForRefused(): void {
    if (!this.#isOwed) return;
    this.#isOwed = false;
    this.#outbox?.askForMissing();
  }

  async #deleteRoom(lease: RoomLease, secret: Uint8Array): Promise<void> {
    const deleted = await lease.deleteRoom(secret);
    if (!deleted.ok) this.#notify(deleted.error.reason, deleted.error.message);
  }

  #handleGap(): void {
    const room = this.#lease?.room;
    if (room === undefined || this.#gapTimer !== undefined) return;
    const decision = decideGapRequest(this.#gaps, room.log.version, performance.now(), this.#limits.gapBackoffMs);
    if (decision.kind === "ask") {
      this.#gaps = decision.state;
      this.#outbox?.askForMissing();
    } else if (decision.kind === "ask later") {
      this.#gapTimer = setTimeout(() => {
        this.#gapTimer = undefined;
        this.#handleGap();
      }, decision.delayMs).unref();
    }
  }

  #handleAckRequest({ room }: RoomLease, version: number, clients: readonly number[]): void {
    this.#isCoppiceClient = true;
    if (version > protocolVersion) {
      this.#notify("unknownFrame", `this relay speaks version ${protocolVersion}, not ${version}`);
    } else if (clients.length > maxClientsPerUpdate) {
      this.#notify("tooManyClients", `acknowledgements can be asked for ${maxClientsPerUpdate} clients at most`);
    } else {
      this.#namedClients = clients.length === 0 ? undefined : new Set(clients);
      const asked = clients.length === 0 ? room.log.index.clients() : clients;
      this.#outbox?.answerAckRequest(asked, version >= protocolVersion);
    }
  }

  async #tellHeads(outbox: Outbox, rooms: readonly string[]): Promise<void> {
    if (rooms.length > maxRoomsPerRequest) {
      this.#notify("frameTooBig", `heads can be asked for ${maxRoomsPerRequest} rooms at a time`);
      return;
    }
    const { maxHeadsPerSecond: perSecond, maxHeadsAtOnce: atOnce } = this.#limits;
    const budget = spend(this.#headsBudget, rooms.length, performance.now(), { perSecond, atOnce });
    if (budget === undefined) {
      this.#notify("busy", "more heads are asked for than this relay tells one connection");
      return;
    }
    this.#headsBudget = budget;
    const turns = new TurnBudget();
    const heads: RoomHead[] = [];
    for (const room of new Set(rooms)) {
      if (this.#isClosed) return;
      heads.push(await this.#readHead(room));
      await turns.spend();
    }
    outbox.sendNotice(encodeFrame({ type: "heads", heads }));
  }

  #shareDraft({ room }: RoomLease, sealed: Uint8Array): void {
    const { maxDraftBytesPerSecond, maxDraftsPerSecond } = this.#limits;
    const limits = { maxBytesPerSecond: maxDraftBytesPerSecond, maxDraftsPerSecond };
    const budget = spendOnDraft(this.#draftBudget, sealed.length, performance.now(), limits);
    if (budget === undefined) {
      this.#dropDraft();
      return;
    }
    this.#draftBudget = budget;
    room.shareDraft(this, prepareBroadcast(encodeFrame({ type: "draft", sealed })));
  }

  #dropDraft(message?: string): void {
    this.#counters.droppedDrafts += 1;
    if (message !== undefined) this.#notify("frameTooBig", message);
  }

  /** Tells a client that understands it that something was not taken, and leaves the connection open. */
  #notify(reason: CloseReason, message: string): void {
    if (!this.#isCoppiceClient) return;
    this.#outbox?.sendNotice(encodeFrame({ type: "refused", code: closeCodes[reason], reason: message }));
  }

  #dropCursors(count: number, message?: string): void {
    this.#counters.droppedCursors += count;
    if (message !== undefined) this.#notify("frameTooBig", message);
  }

  get position(): number | undefined {
    return this.#outbox?.position;
  }

  noteChanges({ committed, cursors }: RoomChanges): void {
    const outbox = this.#outbox;
    if (outbox === undefined) return;
    if (this.#namedClients !== undefined && committed !== undefined) {
      for (const client of this.#namedClients) if (committed.has(client)) outbox.acknowledge([client]);
    }
    if (cursors === undefined) outbox.flush();
    else outbox.showCursors(cursors);
  }

  showDraft(draft: Broadcast): void {
    const outbox = this.#outbox;
    if (outbox === undefined || !this.#isCoppiceClient) return;
    if (!outbox.sendDraft(draft)) this.#counters.droppedDrafts += 1;
  }

  acknowledge(clients: Iterable<number>): void {
    if (this.#isCoppiceClient) this.#outbox?.acknowledge(clients);
  }

  /** Sends an empty awareness frame, so that a client that cannot see pings knows the relay is there. */
  keepAlive(): void {
    this.#outbox?.keepAlive();
  }

  /** Pings; ends the connection when earlier pings were not answered. */
  ping(): void {
    if (this.#isClosed) return;
    // A pong stands behind whatever the client is sending: on a slow line a large record comes in for minutes.
    const bytesRead = this.#transport.bytesRead ?? 0;
    if (bytesRead > this.#bytesReadAtPing) this.#unansweredPings = 0;
    this.#bytesReadAtPing = bytesRead;
    if (this.#unansweredPings >= (this.#hasBacklog ? maxPingsBehindBacklog : 1)) {
      this.terminate();
      return;
    }
    this.#unansweredPings += 1;
    this.#socket.ping();
  }

  checkAlive(): void {
    if (this.#claimTimer !== undefined || this.#isClosed || this.#hasBacklog) return;
    this.#unansweredPings += 1;
    this.#socket.ping();
    this.#claimTimer = setTimeout(() => {
      this.#claimTimer = undefined;
      if (this.#unansweredPings > 0) this.terminate();
    }, this.#limits.claimPingTimeoutMs).unref();
  }

  /** Whether a ping would stand behind data that the socket has not taken yet. */
  get #hasBacklog(): boolean {
    return this.#socket.bufferedAmount > 0;
  }

  refuse({ reason, message }: Refusal): void {
    if (this.#isClosed) return;
    this.#logger.info({ room: this.#roomName, reason, code: closeCodes[reason] }, message);
    this.#leave();
    this.#socket.close(closeCodes[reason], message.slice(0, maxCloseReasonChars));
  }

  #refuseAfterFailure(error: unknown): void {
    // Its log was released under the reading: nothing is wrong with the room, the relay ends.
    if (error instanceof SessionError && error.code === "closed") {
      this.goAway();
      return;
    }
    this.#logger.error({ room: this.#roomName, err: error }, "a room could not be read");
    this.refuse({ reason: "storageFailed", message: "the relay could not read this room" });
  }

  /** Takes no more frames; what was taken goes on, and so does sending. */
  stopTaking(): void {
    this.#inbox.close();
  }

  /** Closes the connection because the relay ends: whoever was here comes again by itself. */
  goAway(): void {
    if (this.#isClosed) return;
    this.#leave();
    this.#socket.close(goingAwayCode, "the relay is stopping");
  }

  /** Cuts the connection without a word. */
  terminate(): void {
    this.#leave();
    this.#socket.terminate();
  }

  /** Ends all this connection has in the relay; the socket may still be closing. */
  #leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#gapTimer);
    clearTimeout(this.#claimTimer);
    this.#inbox.close();
    this.#outbox?.close();
    this.#lease?.room.leave(this);
    this.#lease?.release();
    this.#lease = undefined;
  }
}

/**
 * The socket's binaryType is "nodebuffer", so binary data is one Buffer. Parts of a Buffer are Buffers again, and making
 * those costs several times what parts of a plain array do.
 */
function toPlainBytes({ buffer, byteOffset, byteLength }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
