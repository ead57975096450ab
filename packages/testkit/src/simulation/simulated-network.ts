import { EventEmitter } from "node:events";
import { ClientSocket } from "./client-socket.ts";
import { Pipe } from "./pipe.ts";

/** How a simulated network behaves. */
export interface SimulatedNetworkOptions {
  /** How long the next message is under way, ms; asked once per message. */
  readonly latencyMs: () => number;
  /** Called for each binary message when it is sent: what becomes of it. Default: it is delivered. */
  readonly onMessage?: (message: SentMessage) => MessageFate;
}

/** A binary message as it is sent. */
export interface SentMessage {
  readonly connection: SimulatedConnection;
  readonly from: "client" | "server";
  readonly bytes: Uint8Array;
}

/** What becomes of a message. */
export type MessageFate = "deliver" | "lose" | "duplicate";

/** A server on the simulated network: takes each connection that is made to it. */
export type AcceptConnection = (connection: SimulatedConnection) => void;

/**
 * A network of websocket connections to one server. Messages of one connection stay in order, those of different
 * connections overtake each other. Connections can be cut (both ends hear of it or neither does) and stalled.
 */
export class SimulatedNetwork {
  readonly options: SimulatedNetworkOptions;
  readonly #connections = new Set<SimulatedConnection>();
  readonly #offline = new Set<string>();
  /** How many processes of a client were killed. */
  readonly #kills = new Map<string, number>();
  #accept: AcceptConnection | undefined;

  constructor(options: SimulatedNetworkOptions) {
    this.options = options;
  }

  /** Open connections, oldest first. */
  get connections(): ReadonlySet<SimulatedConnection> {
    return this.#connections;
  }

  /** From now on connections go to this server; undefined: nobody answers. */
  serve(accept: AcceptConnection | undefined): void {
    this.#accept = accept;
  }

  /** A standard WebSocket class whose connections belong to this client's process as it is now. */
  createWebSocketClass(client: string): new (url: string | URL, protocols?: string | string[]) => WebSocket {
    const kills = this.#kills.get(client);
    const connect = (socket: ClientSocket): void => {
      // Timers of a killed process go on here; what they begin must not be seen by anybody.
      if (this.#kills.get(client) === kills) this.#connect(client, socket);
      else socket.die();
    };
    class BoundSocket extends ClientSocket {
      constructor(url: string | URL) {
        super(url, connect);
      }
    }
    // It has what users of a WebSocket in Node use, not every member of the DOM type.
    return BoundSocket as unknown as new (
      url: string | URL,
    ) => WebSocket;
  }

  /** Whether a client's machine has a network; without one its connections hang and new ones fail. */
  setOnline(client: string, isOnline: boolean): void {
    if (isOnline) this.#offline.delete(client);
    else {
      this.#offline.add(client);
      this.cut(client, "silently");
    }
  }

  /** Cuts a client's connections (undefined: everybody's): with a reset that both ends hear of, or silently. */
  cut(client: string | undefined, how: "reset" | "silently"): void {
    for (const connection of [...this.#connections])
      if (client === undefined || connection.client === client) connection.cut(how);
  }

  /**
   * Forgets a client's process: its sockets never call anybody again, the server hears a reset, and the classes made
   * for it connect nowhere any more.
   */
  kill(client: string): void {
    this.#kills.set(client, (this.#kills.get(client) ?? 0) + 1);
    for (const connection of [...this.#connections]) if (connection.client === client) connection.killClient();
  }

  /** Forgets the server's process: its sockets never call anybody again, and the clients hear a reset. */
  killServer(): void {
    this.#accept = undefined;
    for (const connection of [...this.#connections]) connection.killServer();
  }

  #connect(client: string, socket: ClientSocket): void {
    const connection = new SimulatedConnection(this, client, socket, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    setTimeout(() => {
      if (connection.isOver) return;
      const accept = this.#accept;
      if (accept === undefined || this.#offline.has(client)) connection.cut("reset");
      else {
        accept(connection);
        connection.open();
      }
    }, this.options.latencyMs());
  }
}

/** One websocket connection: two pipes and what stands at their ends. */
export class SimulatedConnection {
  readonly client: string;
  /** Path and query of the address. */
  readonly path: string;
  readonly server: ServerSocket;
  readonly toServer: Pipe;
  readonly toClient: Pipe;
  isOver = false;
  /** Messages pass both ways; false before the handshake and after a silent cut. */
  isAlive = false;
  readonly #network: SimulatedNetwork;
  readonly #socket: ClientSocket;
  readonly #forget: () => void;

  constructor(network: SimulatedNetwork, client: string, socket: ClientSocket, forget: () => void) {
    this.#network = network;
    this.client = client;
    this.#socket = socket;
    this.#forget = forget;
    this.path = new URL(socket.url).pathname;
    this.toServer = new Pipe(network.options.latencyMs);
    this.toClient = new Pipe(network.options.latencyMs);
    this.server = new ServerSocket(this);
    socket.attach(this);
  }

  /** The handshake is done. */
  open(): void {
    this.isAlive = true;
    this.#socket.becomeOpen();
  }

  sendFromClient(bytes: Uint8Array): void {
    this.#send("client", bytes, this.toServer, (data) => this.server.receive(data));
  }

  sendFromServer(bytes: Uint8Array): void {
    this.#send("server", bytes, this.toClient, (data) => this.#socket.receive(data));
  }

  #send(from: "client" | "server", bytes: Uint8Array, pipe: Pipe, deliver: (data: Uint8Array) => void): void {
    const data = new Uint8Array(bytes); // not `slice`, which of a Buffer is no copy
    const fate = this.#network.options.onMessage?.({ connection: this, from, bytes: data }) ?? "deliver";
    if (fate === "lose") return;
    pipe.push(data.length, () => deliver(data));
    if (fate === "duplicate") pipe.push(data.length, () => deliver(data.slice()));
  }

  /** A ping of the server; the client's socket answers by itself. */
  ping(): void {
    this.toClient.push(2, () => this.toServer.push(2, () => this.server.emit("pong")));
  }

  /** One end closes in order: the other end hears of it behind all that was sent, then the first. */
  close(from: "client" | "server", code: number, reason: string): void {
    const [there, back] = from === "client" ? [this.toServer, this.toClient] : [this.toClient, this.toServer];
    const [far, near] = from === "client" ? [this.server, this.#socket] : [this.#socket, this.server];
    there.push(2, () => {
      far.becomeClosed(code, reason);
      back.push(2, () => {
        near.becomeClosed(code, reason);
        this.#end();
      });
    });
  }

  /** Everything under way is lost. */
  cut(how: "reset" | "silently"): void {
    this.isAlive = false;
    this.toServer.cut();
    this.toClient.cut();
    if (how === "silently") return;
    this.#end();
    setTimeout(() => this.#socket.becomeClosed(1006, ""), this.#network.options.latencyMs());
    setTimeout(() => this.server.becomeClosed(1006, ""), this.#network.options.latencyMs());
  }

  killClient(): void {
    this.#socket.die();
    this.cut("reset");
  }

  killServer(): void {
    this.server.die();
    this.cut("reset");
  }

  #end(): void {
    this.isOver = true;
    this.isAlive = false;
    this.#forget();
  }
}

/** The server's end of a connection, as the `ws` package shows it, and the stream beneath. */
export class ServerSocket extends EventEmitter {
  readonly transport: ServerTransport;
  readonly #connection: SimulatedConnection;
  #readyState = 1;
  #isDead = false;

  constructor(connection: SimulatedConnection) {
    super();
    this.#connection = connection;
    this.transport = new ServerTransport(connection);
  }

  get readyState(): number {
    return this.#readyState;
  }

  /** Bytes that the client has not taken yet. */
  get bufferedAmount(): number {
    return this.#connection.toClient.bytes;
  }

  get isPaused(): boolean {
    return this.#connection.toServer.isPaused;
  }

  send(bytes: Uint8Array): void {
    if (this.#readyState === 1) this.#connection.sendFromServer(bytes);
  }

  sendBroadcast({ message }: { readonly message: Uint8Array }): void {
    this.send(message);
  }

  ping(): void {
    if (this.#readyState === 1) this.#connection.ping();
  }

  pause(): void {
    this.#connection.toServer.pause();
  }

  resume(): void {
    this.#connection.toServer.resume();
  }

  close(code = 1005, reason = ""): void {
    if (this.#readyState !== 1) return;
    this.#readyState = 2;
    this.#connection.close("server", code, reason);
  }

  terminate(): void {
    if (this.#readyState === 3) return;
    this.#readyState = 2;
    this.#connection.cut("reset");
  }

  receive(data: Uint8Array): void {
    this.transport.bytesRead += data.length;
    if (!this.#isDead && this.#readyState !== 3) this.emit("message", Buffer.from(data.buffer), true);
  }

  becomeClosed(code: number, reason: string): void {
    if (this.#readyState === 3) return;
    this.#readyState = 3;
    if (!this.#isDead) this.emit("close", code, Buffer.from(reason));
  }

  /** The process is gone. */
  die(): void {
    this.#isDead = true;
    this.#readyState = 3;
    this.removeAllListeners();
    this.transport.removeAllListeners();
  }
}

/** The stream beneath a server's socket: tells when all that was sent has been taken. */
export class ServerTransport extends EventEmitter {
  bytesRead = 0;

  constructor(connection: SimulatedConnection) {
    super();
    connection.toClient.onEmpty = () => this.emit("drain");
  }

  cork(): void {}
  uncork(): void {}
}
