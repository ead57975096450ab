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
  #isRunning = false;

  /** @param onError called with what the relay reports as an error */
  constructor(network: SimulatedNetwork, disk: SimulatedDisk, onError: (message: string) => void) {
    this.#network = network;
    this.disk = disk;
    this.#logger = createLogger(onError);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const rooms = new Rooms(this.disk.open(), limits, this.#logger);
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
    if (!this.#isRunning) return;
    this.#isRunning = false;
    for (const timer of this.#timers) clearInterval(timer);
    this.#connections.clear();
    this.#network.killServer();
    this.disk.crash(keepsCommit);
  }

  #accept(line: SimulatedConnection, rooms: Rooms, connections: Set<Connection>): void {
    const socket = line.server;
    const connection = new Connection({
      socket: socket as unknown as ConnectionOptions["socket"],
      transport: socket.transport as unknown as ConnectionOptions["transport"],
      limits,
      counters: { droppedCursors: 0, droppedDrafts: 0 },
      logger: this.#logger,
      enter: () => rooms.acquire(line.path.slice(1)),
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
