import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Result, SessionError, type UpdateStore } from "@coppice/core";
import { maxFrameBytes, type RoomHead, selectSubprotocol } from "@coppice/wire";
import { type Logger, pino } from "pino";
import { type Server as SocketServer, type WebSocket, WebSocketServer } from "ws";
import { type Authorize, authorizeOpen, isLoopbackHost, type Refusal } from "./authorize.ts";
import { Connection } from "./connection.ts";
import { IncomingBudget } from "./incoming-budget.ts";
import { defaultRelayLimits, type RelayLimits } from "./relay-limits.ts";
import { RelaySocket } from "./relay-socket.ts";
import type { RelayCounters, RelayStats } from "./relay-stats.ts";
import { isRoomName, parseRoomName } from "./room-name.ts";
import { type RoomLease, Rooms } from "./rooms.ts";
import { StoreWatch } from "./store-watch.ts";
import { resumeDeletions } from "./tombstones.ts";

/** How a relay is opened. */
export interface RelayOptions {
  /** Where rooms are kept. Used by this relay alone while it is open; not closed by it. */
  readonly store: UpdateStore;
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Port to listen on; default 0: any free one. */
  readonly port?: number;
  /** Who may connect. `open`: every program of this machine, no web page; needs a loopback host. */
  readonly auth: "open";
  /**
   * Answers requests that are neither for a probe nor for a websocket, whatever they ask: serves an app beside the rooms.
   * Default: a sentence at `/`, and 404.
   */
  readonly app?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Where the relay reports; default: nowhere. */
  readonly logger?: Logger;
  /** Rooms nobody is let into for now (4502), as one that costs all others too much. What is stored of them stays. */
  readonly quarantinedRooms?: Iterable<string>;
  /** Bounds and intervals that differ from the defaults. */
  readonly limits?: Partial<RelayLimits>;
}

/** A relay that is listening. */
export interface Relay {
  /** Base address of its rooms (`ws://host:port`); a room is `<url>/<room>`. */
  readonly url: string;
  /** The port it listens on. */
  readonly port: number;
  /**
   * Settles with the store's error when it could not be read for ten seconds, as when its folder was deleted; never
   * otherwise, and never rejects. The relay goes on trying; whoever runs it should say so and end it.
   */
  readonly failed: Promise<unknown>;
  /** The relay in numbers, as they are now. */
  readStats(): RelayStats;
  /**
   * Stops listening and taking updates, waits until what was taken is durable and acknowledged (two seconds at most),
   * closes all connections with 1001 and releases the logs. Safe to call twice. The store stays open.
   */
  close(): Promise<void>;
}

/**
 * Opens a relay: y-websocket's protocol on `ws://host:port/<room>`, a plain answer to HTTP GET, nothing else. Rejects
 * with `relay_refused` when the options do not go together, with `unknown` when it cannot listen, and with `storage` when
 * the store cannot be read.
 */
export async function openRelay(options: RelayOptions): Promise<Relay> {
  const { host = "127.0.0.1", port = 0, auth } = options;
  if (auth !== "open") {
    throw new SessionError("relay_refused", `This relay knows the access mode "open" only, not "${String(auth)}".`);
  }
  if (!isLoopbackHost(host)) {
    throw new SessionError(
      "relay_refused",
      `A relay with open access listens on this machine only: use 127.0.0.1 instead of ${host}.`,
    );
  }
  await resumeDeletions(options.store);
  const relay = new RelayServer(options, authorizeOpen);
  try {
    await relay.listen(host, port);
  } catch (error) {
    await relay.abandon();
    throw error;
  }
  return relay;
}

class RelayServer implements Relay {
  readonly #limits: RelayLimits;
  readonly #logger: Logger;
  readonly #rooms: Rooms;
  readonly #quarantined: ReadonlySet<string>;
  readonly #storeWatch: StoreWatch;
  readonly #authorize: Authorize;
  readonly #http: Server;
  readonly #websockets: SocketServer<typeof RelaySocket>;
  readonly #connections = new Map<WebSocket, Connection>();
  readonly #incoming: IncomingBudget;
  readonly #counters: RelayCounters = { droppedCursors: 0, droppedDrafts: 0 };
  readonly #timers: NodeJS.Timeout[] = [];
  /** Where it listens, or listened. */
  #address: AddressInfo = { address: "", port: 0, family: "" };
  #closing: Promise<void> | undefined;

  constructor({ store, limits, logger, quarantinedRooms, app = answerPlainly }: RelayOptions, authorize: Authorize) {
    this.#limits = { ...defaultRelayLimits, ...limits };
    this.#incoming = new IncomingBudget(this.#limits.maxUnfinishedBytes);
    this.#logger = logger ?? pino({ level: "silent" });
    this.#rooms = new Rooms(store, this.#limits, this.#logger);
    this.#quarantined = new Set(quarantinedRooms);
    this.#storeWatch = new StoreWatch({
      store,
      logger: this.#logger,
      intervalMs: this.#limits.storeCheckIntervalMs,
      lostAfterMs: this.#limits.storeLostAfterMs,
      onUnreadable: (error) => this.#rooms.fail(error),
    });
    this.#authorize = authorize;
    this.#http = createServer((request, response) => {
      if (!answerProbe(request, response, () => this.#describeReadiness())) app(request, response);
    });
    this.#websockets = new WebSocketServer({
      noServer: true,
      WebSocket: RelaySocket,
      maxPayload: maxFrameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      // A browser gives up a connection whose server selects none of the subprotocols it offered.
      handleProtocols: (offered) => selectSubprotocol(offered) ?? false,
    });
    this.#http.on("upgrade", (request, transport, head) => this.#upgrade(request, transport, head));
  }

  get port(): number {
    return this.#address.port;
  }

  get url(): string {
    const { address, port, family } = this.#address;
    return `ws://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  get failed(): Promise<unknown> {
    return this.#storeWatch.lost;
  }

  readStats(): RelayStats {
    let largestBacklogBytes = 0;
    for (const { bufferedAmount } of this.#connections.keys()) {
      largestBacklogBytes = Math.max(largestBacklogBytes, bufferedAmount);
    }
    const { size: connections } = this.#connections;
    return { ...this.#counters, connections, rooms: this.#rooms.size, largestBacklogBytes };
  }

  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#http.once("error", (cause) => {
        reject(new SessionError("unknown", `The relay cannot listen on ${host}:${port}: ${cause.message}.`, { cause }));
      });
      this.#http.listen(port, host, resolve);
    });
    this.#address = this.#http.address() as AddressInfo;
    this.#http.on("error", (error) => this.#logger.error({ err: error }, "the relay's server failed"));
    const each = (act: (connection: Connection) => void, intervalMs: number): void => {
      const run = (): void => {
        for (const connection of this.#connections.values()) act(connection);
      };
      this.#timers.push(setInterval(run, intervalMs).unref());
    };
    each((connection) => connection.keepAlive(), this.#limits.keepAliveIntervalMs);
    each((connection) => connection.ping(), this.#limits.pingIntervalMs);
  }

  /** Ends what a relay that cannot listen has begun. */
  async abandon(): Promise<void> {
    await this.#storeWatch.close();
  }

  /** Always completes the upgrade: a client can read a close code, but not why an upgrade failed. */
  #upgrade(request: IncomingMessage, transport: Duplex, head: Buffer): void {
    this.#websockets.handleUpgrade(request, transport, head, (socket) => {
      socket.useTransport(transport);
      const roomName = parseRoomName(request.url);
      const connection = new Connection({
        socket,
        transport,
        limits: this.#limits,
        counters: this.#counters,
        logger: this.#logger,
        roomName,
        enter: () => this.#enter(request, roomName),
        readHead: (room) => this.#readHead(room),
      });
      this.#keep(socket, connection);
      this.#watchUnfinished(transport, socket, connection);
    });
  }

  /** Apart from `#upgrade`: a listener made there would hold the request, with its headers, as long as the connection. */
  #keep(socket: WebSocket, connection: Connection): void {
    this.#connections.set(socket, connection);
    socket.on("close", () => this.#connections.delete(socket));
  }

  #watchUnfinished(transport: Duplex, socket: WebSocket, connection: Connection): void {
    const makeRoom = (): void => {
      connection.refuse({ reason: "busy", message: "too much is being sent to this relay at once" });
      // ws would keep what came until the other side answers the close frame.
      transport.end(() => transport.destroy());
      setTimeout(() => transport.destroy(), this.#limits.closeGraceMs).unref();
    };
    // Before ws sees the bytes: when they end a message, they are released in the same turn.
    transport.prependListener("data", (bytes: Buffer) => this.#incoming.add(makeRoom, bytes.length));
    socket.on("message", () => this.#incoming.release(makeRoom));
    socket.on("close", () => this.#incoming.release(makeRoom));
  }

  async #enter(request: IncomingMessage, roomName: string | undefined): Promise<RoomLease | Refusal> {
    if (this.#closing !== undefined) return restarting;
    if (this.#connections.size >= this.#limits.maxConnections) {
      return { reason: "busy", message: "the relay has as many connections as it can carry" };
    }
    if (roomName === undefined) {
      return { reason: "badRoomName", message: "a room name is 1 to 200 letters, digits, - or _" };
    }
    if (this.#quarantined.has(roomName)) {
      return { reason: "roomQuarantined", message: "this room is put aside; ask whoever runs the relay" };
    }
    const authorized: Result<unknown, Refusal> = await this.#authorize(request);
    if (!authorized.ok) return authorized.error;
    return this.#rooms.acquire(roomName);
  }

  /**
   * Of any room, to anybody who was let in: on a relay with open access, knowing the name of a room is the right to
   * enter it. What cannot be told now is unknown.
   */
  async #readHead(room: string): Promise<RoomHead> {
    const unknown: RoomHead = { room, state: "unknown" };
    if (!isRoomName(room) || this.#quarantined.has(room) || this.#closing !== undefined) return unknown;
    try {
      return await this.#rooms.readHead(room);
    } catch (error) {
      this.#logger.error({ room, err: error }, "the head of a room could not be read");
      return unknown;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#rooms.prepareClosing();
    const stopped = new Promise<void>((resolve) => {
      this.#http.close(() => resolve());
    });
    // Both waits are bounded: by a disk that hangs, and by clients that do not answer.
    for (const connection of this.#connections.values()) connection.stopTaking();
    const hurry = new AbortController();
    const grace = delay(this.#limits.closeGraceMs, undefined, { signal: hurry.signal }).catch(() => undefined);
    await Promise.race([this.#rooms.settle(), grace]);
    hurry.abort();
    const cutOff = setTimeout(() => {
      for (const connection of this.#connections.values()) connection.terminate();
    }, this.#limits.closeGraceMs);
    const closed = [...this.#connections.keys()].map((socket) => {
      return new Promise<void>((resolve) => {
        socket.once("close", () => resolve());
      });
    });
    for (const connection of this.#connections.values()) connection.goAway();
    await Promise.all(closed);
    clearTimeout(cutOff);
    this.#http.closeAllConnections();
    await stopped;
    await this.#storeWatch.close();
    await this.#rooms.close();
  }

  /** Why nobody should be sent here now; undefined when the relay is ready. */
  #describeReadiness(): string | undefined {
    if (this.#closing !== undefined) return "the relay is stopping";
    return this.#storeWatch.isReadable ? undefined : "the relay's store cannot be read";
  }
}

const restarting: Refusal = { reason: "restarting", message: "the relay is stopping" };

/** Answers what asks whether the relay is there; false when this is something else. */
function answerProbe(
  request: IncomingMessage,
  response: ServerResponse,
  describeReadiness: () => string | undefined,
): boolean {
  const path = pathOf(request);
  if (!isRead(request) || (path !== "/healthz" && path !== "/readyz")) return false;
  const problem = path === "/readyz" ? describeReadiness() : undefined;
  const word = path === "/readyz" ? "ready" : "ok";
  answer(response, problem === undefined ? 200 : 503, `${problem ?? word}\n`);
  return true;
}

/** For people who paste the address of a relay without an app into a browser. */
function answerPlainly(request: IncomingMessage, response: ServerResponse): void {
  if (!isRead(request)) answer(response, 405, "");
  else if (pathOf(request) === "/")
    answer(response, 200, "This is a Coppice relay. Its rooms are reached by websocket.\n");
  else
    answer(response, 404, "There is nothing here: / , /healthz and /readyz answer, rooms are reached by websocket.\n");
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(text);
}

function pathOf({ url }: IncomingMessage): string | undefined {
  return url?.split("?", 1)[0];
}

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}
