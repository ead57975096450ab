import { Connection, defaultRelayLimits, Rooms } from "@coppice/relay/testing";
import type { SimulatedConnection, SimulatedDisk, SimulatedNetwork } from "@coppice/testkit/simulation";

type ConnectionOptions = ConstructorParameters<typeof Connection>[0];
type Logger = ConnectionOptions["logger"];

/** Small enough that a few entries fill them: slow readers lag, and most of what is late is read from disk. */
const limits = {
  ...defaultRelayLimits,
  maxBufferedBytes: 2_048,
  maxQueuedBytes: 4_096,
  maxRecentBytes: 4_096,
  roomIdleMs: 2_000,
  mergeAfterUpdates: 8,
};

/** A relay's process: the real rooms and connections on the simulated disk and network. */
export class SimulatedRelay {
  readonly disk: SimulatedDisk;
  readonly #network: SimulatedNetwork;
  readonly #logger: Logger;
  #timers: ReturnType<typeof setInterval>[] = [];
  #connections = new Set<Connection>();
  #rooms: Rooms | undefined;
  #isStopping = false;

  /** @param onError called with what the relay reports as an error */
  constructor(network: SimulatedNetwork, disk: SimulatedDisk, onError: (message: string) => void) {
    this.#network = network;
    this.disk = disk;
    this.#logger = createLogger(onError);
  }

  get isRunning(): boolean {
    return this.#rooms !== undefined;
  }

  start(): void {
    if (this.#rooms !== undefined) return;
    const rooms = new Rooms(this.disk.open(), limits, this.#logger);
    this.#rooms = rooms;
    const connections = new Set<Connection>();
    this.#connections = connections;
    this.#network.serve((line) => this.#accept(line, rooms, connections));
    this.#timers = [
      setInterval(() => {
        for (const connection of connections) connection.keepAlive();
      }, limits.keepAliveIntervalMs),
      setInterval(() => {
        for (const connection of connections) connection.ping();
      }, limits.pingIntervalMs),
    ];
  }

  /** `kill -9`. */
  crash(keepsCommit: boolean): void {
    if (this.#rooms === undefined) return;
    this.#rooms = undefined;
    this.#isStopping = false;
    for (const timer of this.#timers) clearInterval(timer);
    this.#connections.clear();
    this.#network.killServer();
    this.disk.crash(keepsCommit);
  }

  /** Ends in order, as a relay does that is told to stop. */
  async stop(): Promise<void> {
    const rooms = this.#rooms;
    if (rooms === undefined || this.#isStopping) return;
    this.#isStopping = true;
    this.#network.serve(undefined);
    const connections = [...this.#connections];
    const cutOff = setTimeout(() => {
      for (const connection of connections) connection.terminate();
    }, limits.closeGraceMs);
    for (const connection of connections) connection.refuse({ reason: "restarting", message: "the relay is stopping" });
    await this.#waitUntilUnconnected();
    clearTimeout(cutOff);
    await rooms.close();
    if (this.#rooms === rooms) this.crash(false);
  }

  #waitUntilUnconnected(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#connections.size === 0) resolve();
        else setTimeout(look, 10);
      };
      look();
    });
  }

  #accept(line: SimulatedConnection, rooms: Rooms, connections: Set<Connection>): void {
    const socket = line.server;
    const connection = new Connection({
      socket: socket as unknown as ConnectionOptions["socket"],
      transport: socket.transport as unknown as ConnectionOptions["transport"],
      limits,
      counters: { droppedCursors: 0, droppedDrafts: 0 },
      logger: this.#logger,
      roomName: line.path.slice(1),
      enter: () => rooms.acquire(line.path.slice(1)),
      readHead: (room) => rooms.readHead(room),
    });
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  }
}

function createLogger(onError: (message: string) => void): Logger {
  const quiet = (): void => {};
  const logger = {
    info: quiet,
    debug: quiet,
    warn: quiet,
    error: (details: { err?: unknown }, message: string) => onError(`${message}: ${String(details.err ?? "")}`),
    child: () => logger,
  };
  return logger as unknown as Logger;
}
