import { chmod, stat } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import {
  type CommandRequest,
  commandProtocol,
  encodeFrame,
  parseCommandFrame,
  type SyncFrame,
} from "./command-frames.ts";
import { readFrameLines } from "./frame-lines.ts";
import {
  connectTo,
  proposeAddresses,
  readSyncAddress,
  removeSocket,
  removeSyncAddress,
  writeSyncAddress,
} from "./sync-address.ts";

/** A command that another process handed over. */
export interface HandedCommand {
  readonly request: CommandRequest;
  /** Sends text to that process's stdout or stderr. */
  readonly write: (to: "stdout" | "stderr", text: string) => void;
  /** Aborted when that process is gone. */
  readonly abandoned: AbortSignal;
}

/** What a command server needs. */
export interface CommandServerOptions {
  readonly homeFolder: string;
  readonly version: string;
  /** Whether a request is one to be done here; asked before anything is begun. */
  readonly accepts: (request: CommandRequest) => Promise<boolean>;
  /** Does it; settles with the exit code and never rejects. */
  readonly run: (command: HandedCommand) => Promise<number>;
  /** Another `sync` of the home takes the commands; told once. */
  readonly onOtherServer: () => void;
  /** Commands cannot be taken, and why; they act by themselves then, and it is tried again. Told once. */
  readonly onError: (error: unknown) => void;
  /** How often the server looks whether commands still find it, in ms. Default 30,000. */
  readonly checkIntervalMs?: number;
}

/** Its address may be taken away: by a tidied temporary folder, or by another `sync` that started at the same moment. */
const defaultCheckIntervalMs = 30_000;
/** A command that does not read its output is left, in bytes. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** Unfinished commands of a server that ends are left after this time, in ms: their waits end at once. */
const endWithinMs = 5_000;
const socketMode = 0o600;
const aboutToEnd = "this sync is about to end";

/**
 * Takes commands of other processes of the home, one `sync` per home: a further one waits until the first has ended
 * and then takes its place (SPEC CP70, CP77).
 */
export class CommandServer {
  readonly #options: CommandServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #running = new Set<Promise<void>>();
  #server: Server | undefined;
  #address: string | undefined;
  /** To the other server, while there is one. */
  #other: Socket | undefined;
  #hasToldOther = false;
  #hasToldError = false;
  #checkTimer: ReturnType<typeof setInterval> | undefined;
  #working: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(options: CommandServerOptions) {
    this.#options = options;
  }

  /** Settles when commands find it, or another one, or it was told why they do not. */
  static async open(options: CommandServerOptions): Promise<CommandServer> {
    const server = new CommandServer(options);
    server.#takePlace();
    await server.#working;
    server.#checkTimer = setInterval(() => server.#takePlace(), options.checkIntervalMs ?? defaultCheckIntervalMs);
    server.#checkTimer.unref();
    return server;
  }

  /** Takes no further command, lets those under way end, releases the address. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#checkTimer);
    await this.#working;
    this.#other?.destroy();
    await this.#stopListening();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, endWithinMs);
    });
    await Promise.race([Promise.all(this.#running), late]);
    clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroySoon();
  }

  #takePlace(): void {
    this.#working = this.#working.then(async () => {
      try {
        if (!this.#isClosed && this.#other === undefined && !(await this.#isFound())) await this.#announce();
      } catch (error) {
        if (this.#hasToldError) return;
        this.#hasToldError = true;
        this.#options.onError(error);
      }
    });
  }

  async #isFound(): Promise<boolean> {
    const address = this.#address;
    if (address === undefined || (await readSyncAddress(this.#options.homeFolder)) !== address) return false;
    if (process.platform === "win32") return true;
    return stat(address).then(
      () => true,
      () => false,
    );
  }

  async #announce(): Promise<void> {
    const { homeFolder } = this.#options;
    await this.#stopListening();
    const present = await readSyncAddress(homeFolder);
    if (present !== undefined) {
      const other = await connectTo(present);
      if (other !== undefined) return this.#waitFor(other);
      await removeSocket(homeFolder, present);
    }
    const address = await this.#listen();
    this.#address = address;
    await writeSyncAddress(homeFolder, address);
  }

  /** The open connection tells when the other has ended, however that comes about. */
  #waitFor(other: Socket): void {
    this.#other = other;
    if (!this.#hasToldOther) this.#options.onOtherServer();
    this.#hasToldOther = true;
    other.unref();
    other.resume();
    other.on("error", () => undefined); // "close" follows
    other.once("close", () => {
      this.#other = undefined;
      this.#takePlace();
    });
  }

  /** Settles with the address it listens on. Rejects with what the last proposal failed with. */
  async #listen(): Promise<string> {
    let failure: unknown;
    for await (const address of proposeAddresses(this.#options.homeFolder, process.platform)) {
      const server = createServer((socket) => this.#serve(socket));
      try {
        await new Promise<void>((resolve, reject) => {
          server.once("error", reject);
          server.listen(address, resolve);
        });
        if (process.platform !== "win32") await chmod(address, socketMode);
        this.#server = server;
        return address;
      } catch (error) {
        // Some file systems have no sockets.
        server.close();
        failure = error;
      }
    }
    throw failure ?? new Error("no path is short enough for a socket");
  }

  async #stopListening(): Promise<void> {
    const [server, address] = [this.#server, this.#address];
    this.#server = undefined;
    this.#address = undefined;
    // Connections go on; this only takes no new ones, and removes the socket's file.
    server?.close();
    if (address === undefined) return;
    await removeSyncAddress(this.#options.homeFolder, address);
    await removeSocket(this.#options.homeFolder, address);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    const abandoned = new AbortController();
    socket.on("error", () => undefined); // "close" follows
    socket.on("close", () => {
      this.#sockets.delete(socket);
      abandoned.abort();
    });
    const send = (frame: SyncFrame): void => {
      if (socket.destroyed) return;
      socket.write(encodeFrame(frame));
      if (socket.writableLength > maxUnreadBytes) socket.destroy();
    };
    let request: CommandRequest | undefined;
    let isReady = false;
    readFrameLines(socket, (line) => {
      const frame = parseCommandFrame(line);
      if (frame?.type === "command" && request === undefined) {
        request = frame;
        this.#judge(frame).then(
          (reason) => {
            isReady = reason === undefined;
            send(reason === undefined ? { type: "ready" } : { type: "declined", reason });
          },
          () => socket.destroy(),
        );
      } else if (frame?.type === "begin" && request !== undefined && isReady) {
        isReady = false;
        if (this.#isClosed) return send({ type: "declined", reason: aboutToEnd });
        const write: HandedCommand["write"] = (to, text) => send({ type: "output", to, text });
        this.#begin({ request, write, abandoned: abandoned.signal }, (exitCode) => {
          send({ type: "end", exitCode });
          socket.end();
        });
      } else socket.destroy();
    });
  }

  /** Why a request is not done here; undefined when it is. */
  async #judge(request: CommandRequest): Promise<string | undefined> {
    if (request.protocol !== commandProtocol || request.version !== this.#options.version)
      return `this sync is of version ${this.#options.version}`;
    if (this.#isClosed) return aboutToEnd;
    return (await this.#options.accepts(request)) ? undefined : "this command is not done by sync";
  }

  #begin(command: HandedCommand, onEnd: (exitCode: number) => void): void {
    const running = this.#options
      .run(command)
      .then(onEnd)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}
