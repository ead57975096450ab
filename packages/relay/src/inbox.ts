import type { ClientSocket } from "./client-socket.ts";

/**
 * What keeping a frame costs besides its bytes: the objects around them, and the part of the socket's buffer that it
 * holds. Without it a megabyte of frames of one byte, or any number of empty ones, would be hundreds of megabytes.
 */
const frameOverheadBytes = 256;

/**
 * The frames a connection sent that are not handled yet. They are handled one after the other in the order they came,
 * whatever each of them waits for, and only after `start` (the room is there). When too much waits, reading from the
 * socket stops, so that the sender feels it and memory stays bounded.
 */
export class Inbox {
  readonly #socket: Pick<ClientSocket, "isPaused" | "pause" | "resume">;
  readonly #maxBytes: number;
  readonly #frames: Uint8Array[] = [];
  #bytes = 0;
  #handle: ((frame: Uint8Array) => Promise<void>) | undefined;
  #isRunning = false;
  #isClosed = false;

  constructor(socket: Pick<ClientSocket, "isPaused" | "pause" | "resume">, maxBytes: number) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
  }

  /** Adds a received frame. */
  push(frame: Uint8Array): void {
    if (this.#isClosed) return;
    this.#frames.push(frame);
    this.#bytes += frame.length + frameOverheadBytes;
    if (this.#bytes > this.#maxBytes) this.#socket.pause();
    this.#run();
  }

  /** Begins handling. `handle` must not reject. */
  start(handle: (frame: Uint8Array) => Promise<void>): void {
    this.#handle = handle;
    this.#run();
  }

  /** Forgets what waits and takes nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#frames.length = 0;
    // A paused socket would never see the other side's close frame.
    this.#socket.resume();
  }

  #run(): void {
    if (this.#isRunning || this.#handle === undefined) return;
    this.#isRunning = true;
    void this.#handleAll(this.#handle);
  }

  async #handleAll(handle: (frame: Uint8Array) => Promise<void>): Promise<void> {
    for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
      await handle(frame);
      this.#bytes -= frame.length + frameOverheadBytes;
      if (this.#socket.isPaused && this.#bytes <= this.#maxBytes) this.#socket.resume();
    }
    this.#isRunning = false;
  }
}
