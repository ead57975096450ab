import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as Y from "yjs";
import { type RelayProcess, startRelayProcess } from "./processes.ts";
import { openWireClient, readRoomUpdates } from "./wire-client.ts";

/** How the relay and others on it fared. */
export interface HostileFigures {
  /** From append to arrival in another room, ms, each of them. */
  readonly tookMs: readonly number[];
  /** The relay's own memory, without the pages of its database, bytes. 0 where the system does not tell. */
  readonly peakBytes: number;
  readonly bytes: number;
}

const memorySampleMs = 20;

/** A relay process under attack, bystanders in another room, and rooms with an honest history. */
export class HostileLab {
  /** What an honest client wrote to every room of `writeHonestRoom`. */
  readonly honest: Y.Doc;
  readonly #folder: string;
  #relay: RelayProcess;
  readonly #bystanders: ChildProcess;
  readonly #honestRooms = new Set<string>();
  readonly #rooms = new Set<string>();
  readonly #sampling: NodeJS.Timeout;
  #peakBytes = 0;
  #hasEnded = false;

  private constructor(folder: string, relay: RelayProcess, bystanders: ChildProcess) {
    this.#folder = folder;
    this.#relay = relay;
    this.#bystanders = bystanders;
    this.honest = new Y.Doc();
    this.honest.clientID = 3_000;
    for (let at = 0; at < 50; at += 1) this.honest.getArray("entries").push([new Uint8Array(200).fill(at)]);
    this.#sampling = setInterval(() => {
      this.#peakBytes = Math.max(this.#peakBytes, this.readMemory());
    }, memorySampleMs);
    bystanders.on("exit", () => {
      this.#hasEnded = true;
    });
  }

  static async open(): Promise<HostileLab> {
    const folder = mkdtempSync(join(tmpdir(), "coppice-hostile-"));
    const relay = await startRelayProcess(folder);
    const program = fileURLToPath(new URL("../dist/bystander-process.js", import.meta.url));
    const bystanders = fork(program, [`${relay.url}/bystanders`], { execArgv: [] });
    await once(bystanders, "message");
    return new HostileLab(folder, relay, bystanders);
  }

  get url(): string {
    return this.#relay.url;
  }

  /** A room whose content is looked at in the end. */
  noteRoom(room: string): void {
    this.#rooms.add(room);
  }

  /** Writes the honest history to a room; in the end nothing else may be there. */
  async writeHonestRoom(room: string): Promise<void> {
    const client = await openWireClient(`${this.url}/${room}`);
    const held = client.next("ack", ({ pairs }) => pairs.some(({ clock }) => clock === 50));
    client.send({ type: "syncStep2", update: Y.encodeStateAsUpdate(this.honest) });
    client.send({ type: "ackRequest", version: 1, clients: [this.honest.clientID] });
    await held;
    client.socket.close();
    await client.closed;
    this.#honestRooms.add(room);
    this.noteRoom(room);
  }

  /** The relay's own memory now, bytes. */
  readMemory(): number {
    const path = `/proc/${this.#relay.pid}/status`;
    if (!existsSync(path)) return 0;
    return Number(/RssAnon:\s*(\d+) kB/.exec(readFileSync(path, "utf8"))?.[1] ?? 0) * 1024;
  }

  /** Figures since the last call. Throws when the relay or a bystander is gone. */
  async takeFigures(): Promise<HostileFigures> {
    assert.ok(!this.#hasEnded, "the bystanders lost their relay");
    const answer = once(this.#bystanders, "message");
    this.#bystanders.send("times");
    const [tookMs] = (await answer) as [number[]];
    const peakBytes = this.#peakBytes;
    this.#peakBytes = 0;
    return { tookMs, peakBytes, bytes: this.readMemory() };
  }

  /**
   * Loads every room into a fresh Yjs document, as a stock client would. Throws when one cannot be loaded, leaves
   * something waiting, or lacks any of its honest history. Returns how many there are.
   */
  async assertRoomsAreWhole(): Promise<number> {
    const expected = this.honest.getArray<Uint8Array>("entries").toArray();
    for (const room of this.#rooms) {
      const doc = new Y.Doc();
      for (const update of await readRoomUpdates(`${this.url}/${room}`)) Y.applyUpdate(doc, update);
      assert.equal(doc.store.pendingStructs, null, `${room}: a stock client waits for structs`);
      assert.equal(doc.store.pendingDs, null, `${room}: a stock client waits for deletions`);
      const records = doc.getArray("entries").toArray();
      assert.ok(
        records.every((record) => record instanceof Uint8Array),
        `${room}: not all are records`,
      );
      assert.deepEqual([...doc.share.keys()], ["entries"], `${room}: another root`);
      if (this.#honestRooms.has(room)) assert.deepEqual(records, expected, `${room}: its history is another`);
    }
    return this.#rooms.size;
  }

  /** Ends the bystanders, kills the relay and starts it anew: what it has from then on comes from its disk. */
  async restartRelay(): Promise<void> {
    await this.#endProcesses();
    this.#relay = await startRelayProcess(this.#folder);
  }

  async #endProcesses(): Promise<void> {
    this.#bystanders.removeAllListeners("exit");
    this.#bystanders.kill("SIGKILL");
    await this.#relay.kill();
  }

  /** Ends everything. */
  async close(): Promise<void> {
    clearInterval(this.#sampling);
    await this.#endProcesses();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
