import { SessionError } from "@coppice/core";
import {
  chunkStructs,
  closeCodes,
  encodeFrame,
  encodeUpdate,
  type Frame,
  orderStructs,
  parseFrame,
  parseUpdate,
  protocolVersion,
  type StateVector,
  type Struct,
  type UpdateLimits,
} from "@coppice/wire";
import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { type Awareness, applyAwarenessUpdate, encodeAwarenessUpdate } from "y-protocols/awareness";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";
import type { Coverage } from "./coverage.ts";
import { messageOf } from "./error-message.ts";
import { readHeldClocks } from "./held-clocks.ts";
import { judgeLink } from "./link-watch.ts";
import { type CountingSocket, createBinarySocketClass } from "./relay-socket.ts";
import type { ConnectionState, RelayLinkTimings, WebSocketConstructor } from "./workspace-types.ts";

const defaultTimings: RelayLinkTimings = {
  maxReconnectDelayMs: 1_500,
  // With the watch's own step a silent relay is left within 10 s.
  resendAfterMs: 4_500,
  resyncIntervalMs: 30_000,
};

/** What a link tells its replica. */
export type RelayLinkEvent =
  | { readonly type: "connection"; readonly connection: ConnectionState }
  | { readonly type: "refused"; readonly code: number; readonly reason: string }
  | { readonly type: "synced"; readonly synced: boolean }
  | { readonly type: "coverage" }
  | { readonly type: "notice"; readonly code: number; readonly reason: string };

/** What a link works on. */
export interface RelayLinkOptions {
  /** Address of the relay without a trailing slash. */
  readonly relay: string;
  readonly roomId: string;
  readonly doc: Y.Doc;
  readonly awareness: Awareness;
  readonly coverage: Coverage;
  readonly webSocket: WebSocketConstructor;
  /** Durable records that no acknowledgement covers. */
  readonly countPending: () => number;
  /** First clock that is not durable here, by client id. Only durable records are sent. */
  readonly firstUnsavedClocks: () => ReadonlyMap<number, number>;
  readonly flushed: () => Promise<void>;
  readonly onEvent: (event: RelayLinkEvent) => void;
  readonly timings?: Partial<RelayLinkTimings>;
}

/** The local document is trusted to be well-formed; only its size is without bound. */
const localLimits: UpdateLimits = {
  maxStructs: Number.MAX_SAFE_INTEGER,
  maxClients: Number.MAX_SAFE_INTEGER,
  maxRecordBytes: Number.MAX_SAFE_INTEGER,
};
/** Message numbers the provider hands to handlers: y-websocket's sync, awareness and auth, and ours. */
const handledMessages = [0, 1, 2, 67];
const awarenessMessage = 1;

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
 * The socket of one replica: stock `WebsocketProvider` connects, backs off and watches for silence; what is sent and
 * how frames are read is ours, because the stock handlers send what is not durable yet and die of bad input.
 */
export class RelayLink {
  readonly #options: RelayLinkOptions;
  readonly #timings: RelayLinkTimings;
  readonly #provider: WebsocketProvider;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Until the first answer to this connection's question, an acknowledgement carries the relay's whole vector. */
  #expectsWholeVector = false;
  #isRefused = false;
  #isClosed = false;
  /** Times of the watch, see `LinkState`. */
  #progressAt = 0;
  #probedAt = 0;
  #resentAt = 0;
  #resyncedAt = 0;
  /** Bytes of this connection when last looked at, where the socket class counts them. */
  #bytesReceived = 0;
  /** Until when what was sent may be under way on the slowest line worth waiting for. */
  #sendingUntil = 0;

  constructor(options: RelayLinkOptions) {
    this.#options = options;
    this.#timings = { ...defaultTimings, ...options.timings };
    this.#provider = this.#createProvider();
    this.#timer = setInterval(() => this.#watch(), this.#timings.resendAfterMs / checksPerPeriod);
    options.onEvent({ type: "connection", connection: "connecting" });
    this.#provider.connect();
  }

  /** Sends records that are durable here and not covered by the relay's acknowledgements; offline it does nothing. */
  send(update: Uint8Array): void {
    if (!this.#provider.wsconnected) return;
    this.#sendStructsOf(update, (client, clock) => clock >= this.#options.coverage.get(client));
  }

  /** Closes the socket for good; the cursor is taken down first. Safe to call twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#options.awareness.setLocalState(null);
    this.#provider.destroy();
  }

  #createProvider(): WebsocketProvider {
    const { relay, roomId, doc, awareness, webSocket } = this.#options;
    const provider = new WebsocketProvider(relay, roomId, doc, {
      connect: false,
      disableBc: true,
      awareness,
      maxBackoffTime: this.#timings.maxReconnectDelayMs,
      WebSocketPolyfill: createBinarySocketClass(webSocket, () =>
        this.#refuse(closeCodes.textFrame, "the server sent a text frame"),
      ) as typeof WebSocket,
    });
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
    provider.on("connection-close", () => {
      this.#options.onEvent({ type: "synced", synced: false });
      if (!this.#isRefused && !this.#isClosed) this.#options.onEvent({ type: "connection", connection: "offline" });
    });
    provider.on("closed", ({ code, reason }) => this.#refuse(code, reason));
    return provider;
  }

  /** Runs before the provider's own first SyncStep1: asks for acknowledgements, beginning with all the relay has. */
  #greet(): void {
    this.#expectsWholeVector = true;
    const now = Date.now();
    this.#progressAt = now;
    this.#probedAt = now;
    this.#resentAt = now;
    this.#resyncedAt = now;
    this.#bytesReceived = 0;
    this.#sendingUntil = 0;
    this.#sendFrame({ type: "ackRequest", version: protocolVersion, clients: [] });
    // A relay that restarted knows no cursor: with a clock that has not moved, others would take ours for old news.
    const { awareness } = this.#options;
    awareness.setLocalState(awareness.getLocalState());
    this.#options.onEvent({ type: "connection", connection: "online" });
  }

  #readMessage(decoder: decoding.Decoder): void {
    const parsed = parseFrame(decoder.arr);
    try {
      if (!parsed.ok) throw new SessionError("unknown", parsed.error);
      this.#takeFrame(parsed.value, decoder);
    } catch (error) {
      // Whatever it was, it did not come from a relay that keeps to the protocol; asking again would bring it again.
      this.#refuse(closeCodes.badFrame, `the server sent a frame that cannot be read: ${messageOf(error)}`);
    }
  }

  #takeFrame(frame: Frame, decoder: decoding.Decoder): void {
    switch (frame.type) {
      case "syncStep1":
        this.#upload(frame.stateVector, () => this.#sendFrame({ type: "syncStep2", update: encodeUpdate([]) }));
        return;
      case "update":
      case "syncStep2":
        this.#takeUpdate(frame.update, frame.type === "syncStep2");
        return;
      case "awareness":
        applyAwarenessUpdate(this.#options.awareness, decoding.readVarUint8Array(decoder), this);
        return;
      case "ack":
        this.#takeAck(new Map(frame.pairs.map(({ client, clock }) => [client, clock])));
        return;
      case "permissionDenied":
        this.#refuse(closeCodes.forbidden, frame.reason);
        return;
      case "refused":
        // Something we sent was not taken and the connection stays: what it was stays pending, and that shows.
        this.#options.onEvent({ type: "notice", code: frame.code, reason: frame.reason });
        return;
      default:
        return;
    }
  }

  #takeUpdate(update: Uint8Array, isStep2: boolean): void {
    const { doc, coverage } = this.#options;
    const parsed = parseUpdate(update);
    if (!parsed.ok) throw new SessionError("unknown", parsed.error);
    for (const { client, clock } of parsed.value.structs) coverage.cover(client, clock + 1);
    const wasWaiting = this.#isWaiting;
    Y.applyUpdate(doc, update, this);
    if (this.#isWaiting) {
      // Something before these records is missing: the relay's whole answer closes the gap.
      if (!wasWaiting) this.#askForMissing();
      this.#setSynced(false);
    } else if (isStep2) this.#setSynced(true);
    this.#options.onEvent({ type: "coverage" });
  }

  get #isWaiting(): boolean {
    return this.#options.doc.store.pendingStructs !== null;
  }

  #setSynced(synced: boolean): void {
    this.#provider.synced = synced;
    this.#options.onEvent({ type: "synced", synced });
  }

  #takeAck(clocks: StateVector): void {
    const { coverage } = this.#options;
    if (this.#expectsWholeVector) {
      this.#expectsWholeVector = false;
      coverage.replace(clocks);
    }
    // An answer that says nothing new is a sign of life, not of our records being taken.
    for (const [client, clock] of clocks) if (coverage.cover(client, clock)) this.#progressAt = Date.now();
    if (this.#options.countPending() === 0) this.#sendingUntil = 0;
    this.#options.onEvent({ type: "coverage" });
  }

  #askForMissing(): void {
    this.#resyncedAt = Date.now();
    this.#sendFrame({ type: "syncStep1", stateVector: readHeldClocks(this.#options.doc) });
  }

  /** Sends everything durable here that `known` lacks, parents first, in chunks; then calls `afterwards`. */
  #upload(known: StateVector, afterwards: () => void = () => undefined): void {
    this.#options
      .flushed()
      // The queue reports its own failure as a status; what is durable already can still be sent.
      .catch(() => undefined)
      .then(() => {
        if (!this.#provider.wsconnected) return;
        this.#sendStructsOf(Y.encodeStateAsUpdate(this.#options.doc, Y.encodeStateVector(new Map(known))), () => true);
        afterwards();
      })
      .catch((error: unknown) => this.#refuse(closeCodes.badUpdate, messageOf(error)));
  }

  #sendStructsOf(update: Uint8Array, isWanted: (client: number, clock: number) => boolean): void {
    const parsed = parseUpdate(update, localLimits);
    if (!parsed.ok) throw new SessionError("invalid_session", `The local document cannot be sent: ${parsed.error}.`);
    const { doc } = this.#options;
    const unsaved = this.#options.firstUnsavedClocks();
    const held = readHeldClocks(doc);
    // Yjs encodes records that wait for others too; they came from the relay and are not ours to vouch for.
    const isHeld = ({ client, clock }: Struct): boolean => clock < (held.get(client) ?? 0);
    const isDurable = ({ client, clock }: Struct): boolean => clock < (unsaved.get(client) ?? Number.POSITIVE_INFINITY);
    const structs = parsed.value.structs.filter(
      (struct) => isWanted(struct.client, struct.clock) && isHeld(struct) && isDurable(struct),
    );
    const ordered = orderStructs(structs);
    if (!ordered.ok)
      throw new SessionError("invalid_session", "The local document cannot be sent: its records wait for each other.");
    for (const { update: chunk } of chunkStructs(ordered.value)) this.#sendFrame({ type: "update", update: chunk });
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
    const socket = this.#provider.ws;
    if (this.#provider.wsconnected && socket !== null && socket.readyState === socket.OPEN) this.#sendOn(socket, bytes);
  }

  #sendOn(socket: WebSocket, bytes: Uint8Array): void {
    // lib0 and Yjs allocate plain ArrayBuffers; their types do not say so.
    socket.send(bytes as Uint8Array<ArrayBuffer>);
    // The system takes megabytes from the socket at once and says nothing of how they fare on a slow line.
    this.#sendingUntil = Math.max(this.#sendingUntil, Date.now()) + bytes.length / slowestLineBytesPerMs;
  }

  /** Own timer: the provider's needs a global WebSocket, which Node 20 lacks, and knows nothing of acknowledgements. */
  #watch(): void {
    const socket: CountingSocket | null = this.#provider.ws;
    if (!this.#provider.wsconnected || socket === null) return;
    const now = Date.now();
    const { bytesReceived } = socket;
    const receivedNow = (bytesReceived ?? 0) - this.#bytesReceived;
    this.#bytesReceived += receivedNow;
    // Also for the provider's own watchdog, which counts whole messages only.
    if (receivedNow > 0) this.#provider.wsLastMessageReceived = now;
    const isBusy = socket.bufferedAmount > 0 || receivedNow > smallFrameBytes || now < this.#sendingUntil;
    const pending = this.#options.countPending();
    if (pending === 0 || isBusy) this.#progressAt = now;
    const verdict = judgeLink(
      {
        now,
        heardAt: this.#provider.wsLastMessageReceived,
        progressAt: this.#progressAt,
        probedAt: this.#probedAt,
        resentAt: this.#resentAt,
        resyncedAt: this.#resyncedAt,
        pending,
        isBusy,
        countsBytes: bytesReceived !== undefined,
        isWaiting: this.#isWaiting,
      },
      this.#timings,
    );
    if (verdict === "give_up") this.reconnect();
    else if (verdict === "ask_missing") this.#askForMissing();
    else if (verdict === "resend") {
      this.#resentAt = now;
      this.#upload(this.#options.coverage.entries());
    } else if (verdict === "probe") {
      this.#probedAt = now;
      this.#sendFrame({ type: "ackRequest", version: protocolVersion, clients: [this.#options.doc.clientID] });
    }
  }

  /** Leaves the connection at once, dead or not, and makes a new one: closing it in order would wait for the other side. */
  reconnect(): void {
    if (this.#isRefused || this.#isClosed) return;
    const socket: CountingSocket | null = this.#provider.ws;
    this.#provider.disconnect();
    socket?.terminate?.();
    this.#provider.connect();
  }

  #refuse(code: number, reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#provider.disconnect();
    this.#options.onEvent({ type: "refused", code, reason });
  }
}

function encodeCursorFrame(awareness: Awareness, client: number): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, awarenessMessage);
  encoding.writeVarUint8Array(encoder, encodeAwarenessUpdate(awareness, [client]));
  return encoding.toUint8Array(encoder);
}

/** The provider adds one process-wide listener per room, which Node takes for a leak from the eleventh on. */
function removeExitListener(listener: () => void): void {
  const { process } = globalThis as { process?: { off?: (event: "exit", listener: () => void) => void } };
  process?.off?.("exit", listener);
}
