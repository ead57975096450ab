import { SessionError } from "@coppice/core";
import {
  closeCodes,
  encodeFrame,
  type Frame,
  isFinalCloseCode,
  maxRoomsPerRequest,
  parseFrame,
  type RoomHead,
  tokenToSubprotocols,
} from "@coppice/wire";
import type * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { type Awareness, encodeAwarenessUpdate } from "y-protocols/awareness";
import { WebsocketProvider } from "y-websocket";
import { sleepUnlessAborted } from "./abortable-sleep.ts";
import { messageOf } from "./error-message.ts";
import { ForeignStates } from "./foreign-states.ts";
import type { ClockVector } from "./held-records.ts";
import { judgeLink } from "./link-watch.ts";
import { type ConversationSubject, RelayConversation } from "./relay-conversation.ts";
import { createRelaySocketClass, type RelaySocket, type SocketClose } from "./relay-socket.ts";
import { pickRetryDelayMs, type RandomSource } from "./retry-delay.ts";
import type { NewsEvent, RelayEvent } from "./sync-status.ts";
import type { Pass, TokenGate } from "./token-gate.ts";
import type { RelayLinkTimings, WebSocketConstructor } from "./workspace-types.ts";

/** Times of a relay link where the caller says nothing. */
export const defaultTimings: RelayLinkTimings = {
  maxReconnectDelayMs: 1_500,
  // With the watch's own step a silent relay is left within 10 s.
  resendAfterMs: 4_500,
  resyncIntervalMs: 30_000,
};

/** What a link tells its replica. */
export type RelayLinkEvent =
  | RelayEvent
  | NewsEvent
  | { readonly type: "coverage" }
  | { readonly type: "heads"; readonly heads: readonly RoomHead[] }
  /** The relay has other records than we do, by client id from these clocks on. The link is of no more use. */
  | { readonly type: "contested"; readonly from: ClockVector };

/** What a link works on. */
export interface RelayLinkOptions extends ConversationSubject {
  /** Address of the relay without a trailing slash. */
  readonly relay: string;
  readonly roomId: string;
  readonly awareness: Awareness;
  readonly webSocket: WebSocketConstructor;
  /** Shared by the links of a workspace. */
  readonly tokenGate: TokenGate;
  readonly random: RandomSource;
  readonly onEvent: (event: RelayLinkEvent) => void;
  readonly timings?: Partial<RelayLinkTimings>;
}

/** Message numbers the provider hands to handlers: y-websocket's sync, awareness and auth, and ours. */
const handledMessages = [0, 1, 2, 67];
const awarenessMessage = 1;

/** Somebody may come in between again and again while we look; after so many times it is not that. */
const maxConflictCloses = 3;

/** How often within `resendAfterMs` the watch looks. */
const checksPerPeriod = 5;

/** 256 kbit/s: an import of 10 MB is not given up within five minutes. */
const slowestLineBytesPerMs = 32;

/** More than answers and cursors bring between two looks: something large is on its way. */
const smallFrameBytes = 4 * 1024;

interface AwarenessChanges {
  readonly added: number[];
  readonly updated: number[];
  readonly removed: number[];
}

/**
 * The socket of one replica: stock `WebsocketProvider` holds the connection and the cursors; what is sent and how frames
 * are read is ours, because the stock handlers send what is not durable yet and die of bad input, and so is when it
 * connects, because the stock waits are the same on every device and end where a token is refused. Times are those of
 * a clock that nobody sets.
 */
export class RelayLink {
  readonly #options: RelayLinkOptions;
  readonly #timings: RelayLinkTimings;
  readonly #provider: WebsocketProvider;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #foreignStates: ForeignStates;
  /** What is said on the present connection; undefined while there is none. */
  #conversation: RelayConversation | undefined;
  /** Questions for heads that are not answered. */
  #headsAsked = 0;
  #knowsHeads = true;
  /** How often a connection was closed for conflicting history without the relay's own records showing where. */
  #conflictCloses = 0;
  #isRefused = false;
  #isClosed = false;
  /** Connections that ended, or did not come about, since everything had last arrived. */
  #failures = 0;
  /** What the present or last attempt was let in by. */
  #pass: Pass | undefined;
  /** Why the connection is being left; null: somebody asked for another attempt, which is no loss. */
  #leaving: string | null | undefined;
  /** When the present connection was opened, and when something last came on it. */
  #openedAt = 0;
  #heardAt = 0;
  /** When a sign of life was last asked for. */
  #probedAt = 0;
  /** Bytes of this connection when last looked at, where the socket class counts them. */
  #bytesReceived = 0;
  /** Until when what was sent may be under way on the slowest line worth waiting for. */
  #sendingUntil = 0;

  constructor(options: RelayLinkOptions) {
    this.#options = options;
    this.#timings = { ...defaultTimings, ...options.timings };
    this.#foreignStates = new ForeignStates(options.awareness);
    this.#provider = this.#createProvider();
    this.#timer = setInterval(() => this.#watch(), this.#timings.resendAfterMs / checksPerPeriod);
    options.onEvent({ type: "connect" });
    this.#provider.connect();
  }

  /** Sends records that are durable here and not covered by the relay's acknowledgements; offline it does nothing. */
  send(update: Uint8Array): void {
    this.#conversation?.sendUpdate(update);
  }

  /** Compares both sides now; without a connection, also after a refusal, it tries at once to get one. */
  resync(): void {
    if (this.#isClosed) return;
    if (this.#conversation === undefined) {
      this.#isRefused = false;
      this.#failures = 0;
      this.#options.tokenGate.open();
      this.#leave(null);
      this.#options.onEvent({ type: "connect" });
    } else {
      this.#probe();
      this.#conversation.compare();
    }
  }

  /**
   * Asks what the relay has of rooms; the answers are `heads` events. False: there is no connection, or the relay is of
   * an earlier version, which stays connected and takes no such question.
   */
  askHeads(rooms: readonly string[]): boolean {
    if (this.#conversation === undefined || !this.#knowsHeads) return false;
    for (let from = 0; from < rooms.length; from += maxRoomsPerRequest) {
      this.#headsAsked += 1;
      this.#sendFrame({ type: "headsRequest", rooms: rooms.slice(from, from + maxRoomsPerRequest) });
    }
    return true;
  }

  /** A refusal of a question for heads is no news to anybody: a time is not shown then. */
  #takeRefusalOfHeads(code: number): boolean {
    if (this.#headsAsked === 0 || (code !== closeCodes.unknownFrame && code !== closeCodes.busy)) return false;
    this.#headsAsked -= 1;
    if (code === closeCodes.unknownFrame) this.#knowsHeads = false;
    return true;
  }

  /** Asks the relay to delete the room; the answer is a final close, or a notice. Offline it does nothing. */
  deleteRoom(secret: Uint8Array): void {
    this.#sendFrame({ type: "deleteRoom", secret });
  }

  /** Closes the socket for good; the cursor is taken down first. Safe to call twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conversation?.end();
    clearInterval(this.#timer);
    this.#foreignStates.close();
    this.#options.awareness.setLocalState(null);
    this.#provider.destroy();
  }

  #createProvider(): WebsocketProvider {
    const { relay, roomId, doc, awareness, webSocket } = this.#options;
    const provider = new WebsocketProvider(relay, roomId, doc, {
      connect: false,
      disableBc: true,
      awareness,
      // Its sockets wait by themselves.
      maxBackoffTime: 0,
      WebSocketPolyfill: createRelaySocketClass({
        webSocket,
        prepare: (signal) => this.#prepare(signal),
        openTimeoutMs: 2 * this.#timings.resendAfterMs,
        onTextFrame: () => this.#refuse(closeCodes.textFrame, "the server sent a text frame"),
      }),
    });
    // It goes by the time of day, which somebody may set; the watch below leaves a silent connection sooner.
    clearInterval(provider._checkInterval);
    // The stock handlers send before anything is durable, echo other replicas' cursors, and hold a process-wide
    // exit listener per room; the relay takes a cursor down when its socket closes.
    doc.off("update", provider._updateHandler);
    awareness.off("update", provider._awarenessUpdateHandler);
    provider._awarenessUpdateHandler = (changes: AwarenessChanges) => this.#sendOwnCursor(changes);
    awareness.on("update", provider._awarenessUpdateHandler);
    removeExitListener(provider._exitHandler);
    // It would say goodbye to other tabs, which are not asked, under whatever client id the document has by now.
    provider.disconnectBc = () => undefined;

    for (const message of handledMessages)
      provider.messageHandlers[message] = (_reply: unknown, decoder: decoding.Decoder) => this.#readMessage(decoder);

    provider.on("status", ({ status }) => {
      if (status === "connected") this.#greet();
    });
    provider.on("connection-close", (event) => {
      this.#headsAsked = 0;
      this.#knowsHeads = true;
      this.#conversation?.end();
      this.#conversation = undefined;
      if (this.#isRefused || this.#isClosed || this.#leaving === null) return;
      this.#failures += 1;
      // What follows a final close is told by `closed`.
      if (event !== null && isFinalCloseCode(event.code)) return;
      this.#options.onEvent({ type: "lost", reason: this.#leaving ?? describeClose(event) });
    });
    provider.on("closed", ({ code, reason }) => this.#takeFinalClose(code, reason));
    return provider;
  }

  /**
   * Conflicting history is asked about on the next connection, whose first question shows which records are contested.
   * If it shows none, it is for good like every other final close.
   */
  #takeFinalClose(code: number, reason: string): void {
    if (code === closeCodes.unauthorised) {
      // Not for good: the next token may be a good one.
      if (this.#pass !== undefined) this.#options.tokenGate.noteRefusal(this.#pass);
      this.#options.onEvent({ type: "refused", code, reason: `sign in again: ${reason}` });
      this.#provider.connect();
      return;
    }
    if (code === closeCodes.conflictingHistory) {
      this.#conflictCloses += 1;
      if (this.#conflictCloses <= maxConflictCloses) {
        this.#options.onEvent({ type: "lost", reason: describeClose({ code, reason }) });
        this.#provider.connect();
        return;
      }
    }
    this.#refuse(code, reason);
  }

  /** Before each attempt: waits its time and gets a token. */
  async #prepare(signal: AbortSignal): Promise<readonly string[]> {
    const { random, tokenGate } = this.#options;
    await sleepUnlessAborted(pickRetryDelayMs(this.#failures, this.#timings.maxReconnectDelayMs, random), signal);
    if (signal.aborted) return [];
    const pass = await tokenGate.enter(signal);
    this.#pass = pass;
    return pass.token === undefined ? [] : tokenToSubprotocols(pass.token);
  }

  #greet(): void {
    const now = performance.now();
    this.#openedAt = now;
    this.#heardAt = now;
    this.#probedAt = now;
    this.#bytesReceived = 0;
    this.#sendingUntil = 0;
    this.#conversation = new RelayConversation(this.#options, {
      send: (frame) => this.#sendFrame(frame),
      progress: (arrived, total) => this.#options.onEvent({ type: "progress", arrived, total }),
      caughtUp: () => {
        this.#failures = 0;
        this.#options.tokenGate.open();
        this.#options.onEvent({ type: "caughtUp" });
      },
      coverageChanged: () => {
        if (this.#options.countPending() === 0) this.#sendingUntil = 0;
        this.#options.onEvent({ type: "coverage" });
      },
      acknowledged: () =>
        this.#options.onEvent({ type: "acknowledged", at: Date.now(), pending: this.#options.countPending() }),
      contested: (from) => this.#options.onEvent({ type: "contested", from }),
      failed: (error) => this.#refuse(closeCodes.badUpdate, messageOf(error)),
    });
    // A relay that restarted knows no cursor: with a clock that has not moved, others would take ours for old news.
    const { awareness } = this.#options;
    awareness.setLocalState(awareness.getLocalState());
  }

  #readMessage(decoder: decoding.Decoder): void {
    this.#heardAt = performance.now();
    const parsed = parseFrame(decoder.arr);
    try {
      if (!parsed.ok) throw new SessionError("unknown", parsed.error);
      this.#takeFrame(parsed.value);
    } catch (error) {
      // Whatever it was, it did not come from a relay that keeps to the protocol; asking again would bring it again.
      this.#refuse(closeCodes.badFrame, `the server sent a frame that cannot be read: ${messageOf(error)}`);
    }
  }

  #takeFrame(frame: Frame): void {
    switch (frame.type) {
      case "syncStep1":
        this.#conversation?.takeSyncStep1(frame.stateVector);
        return;
      case "update":
      case "syncStep2":
        this.#conversation?.takeUpdate(frame.update, frame.type === "syncStep2");
        return;
      case "awareness":
        this.#foreignStates.apply(frame.states, this);
        return;
      case "ack":
        this.#conversation?.takeAck(frame.pairs);
        return;
      case "digest":
        this.#conversation?.takeDigest(frame.digest);
        return;
      case "heads":
        this.#headsAsked -= 1;
        this.#options.onEvent({ type: "heads", heads: frame.heads });
        return;
      case "permissionDenied":
        this.#refuse(closeCodes.forbidden, frame.reason);
        return;
      case "refused":
        if (frame.code === closeCodes.versionMismatch) {
          this.#refuse(frame.code, frame.reason);
          return;
        }
        if (this.#takeRefusalOfHeads(frame.code)) return;
        if (frame.code === closeCodes.unknownFrame && this.#conversation?.takeRefusal() === true) return;
        // Something we sent was not taken and the connection stays: what it was stays pending, and that shows.
        this.#options.onEvent({ type: "notice", code: frame.code, reason: frame.reason });
        return;
      default:
        return;
    }
  }

  #sendOwnCursor({ added, updated, removed }: AwarenessChanges): void {
    const own = this.#options.awareness.clientID;
    if (![...added, ...updated, ...removed].includes(own)) return;
    this.#sendBytes(encodeCursorFrame(this.#options.awareness, own));
  }

  #sendFrame(frame: Frame): void {
    this.#sendBytes(encodeFrame(frame));
  }

  #sendBytes(bytes: Uint8Array): void {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState !== socket.OPEN) return;
    socket.sendMessage(bytes);
    // The system takes megabytes from the socket at once and says nothing of how they fare on a slow line.
    this.#sendingUntil = Math.max(this.#sendingUntil, performance.now()) + bytes.length / slowestLineBytesPerMs;
  }

  /** The open connection's socket. */
  get #socket(): RelaySocket | undefined {
    return this.#provider.wsconnected ? this.#anySocket : undefined;
  }

  /** The socket that is open, opening or waiting to be opened. */
  get #anySocket(): RelaySocket | undefined {
    // The provider makes its sockets of the class it was given.
    return (this.#provider.ws as unknown as RelaySocket | null) ?? undefined;
  }

  /** Own timer: the provider's needs a global WebSocket, which Node 20 lacks, and knows nothing of acknowledgements. */
  #watch(): void {
    const [socket, conversation] = [this.#socket, this.#conversation];
    if (socket === undefined || conversation === undefined) return;
    const now = performance.now();
    const { bytesReceived } = socket;
    const receivedNow = (bytesReceived ?? 0) - this.#bytesReceived;
    this.#bytesReceived += receivedNow;
    if (receivedNow > 0) this.#heardAt = now;
    const isBusy = socket.bufferedAmount > 0 || receivedNow > smallFrameBytes || now < this.#sendingUntil;
    const pending = this.#options.countPending();
    if (pending === 0 || isBusy) conversation.progressAt = now;
    const verdict = judgeLink(
      {
        now,
        heardAt: this.#heardAt,
        openedAt: this.#openedAt,
        hasAnswered: conversation.hasContact,
        failures: this.#failures,
        progressAt: conversation.progressAt,
        probedAt: this.#probedAt,
        resentAt: conversation.resentAt,
        askedAt: conversation.askedAt,
        digestAskedAt: conversation.digestAskedAt,
        pending,
        isBusy,
        countsBytes: bytesReceived !== undefined,
        isWaiting: conversation.isWaiting,
        fruitlessQuestions: conversation.fruitlessQuestions,
      },
      this.#timings,
    );
    if (verdict === "give_up") this.#leave("the relay does not answer any more");
    else if (verdict === "ask_missing") conversation.ask();
    else if (verdict === "resend") conversation.resend();
    else if (verdict === "compare") conversation.compare();
    else if (verdict === "probe") this.#probe();
  }

  /** Asks for a sign of life: below the messages where the socket can. */
  #probe(): void {
    this.#probedAt = performance.now();
    if (this.#socket?.ping() !== true) this.#conversation?.compare();
  }

  /** Makes a new connection in place of this one. */
  reconnect(): void {
    if (!this.#isRefused && !this.#isClosed) this.#leave("the connection is made anew");
  }

  /**
   * Leaves the connection at once, dead or not, and begins a new one: closing it in order would wait for the other side.
   * `reason` is what the loss is told as; null: it is none.
   */
  #leave(reason: string | null): void {
    const socket = this.#anySocket;
    this.#leaving = reason;
    this.#provider.disconnect();
    this.#leaving = undefined;
    socket?.terminate();
    this.#provider.connect();
  }

  #refuse(code: number, reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#conversation?.end();
    this.#provider.disconnect();
    const isOld = code === closeCodes.versionMismatch;
    this.#options.onEvent(isOld ? { type: "tooOld", reason } : { type: "refused", code, reason });
  }
}

function describeClose(close: SocketClose | null): string {
  if (close === null || close.reason === "") return "the relay cannot be reached";
  return close.code >= 4000 ? `the relay closed the connection: ${close.reason} (${close.code})` : close.reason;
}

function encodeCursorFrame(awareness: Awareness, client: number): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, awarenessMessage);
  encoding.writeVarUint8Array(encoder, encodeAwarenessUpdate(awareness, [client]));
  return encoding.toUint8Array(encoder);
}

/** The provider adds one process-wide listener per room, which Node takes for a leak from the eleventh on. */
function removeExitListener(listener: () => void): void {
  const host = globalThis as { process?: { off?: (event: "exit", listener: () => void) => void } };
  host.process?.off?.("exit", listener);
}
