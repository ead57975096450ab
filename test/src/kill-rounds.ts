import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { protocolVersion } from "@coppice/wire";
import { create, int32, type PRNG } from "lib0/prng";
import * as Y from "yjs";
import { killStartingRelay, startRelayProcess } from "./processes.ts";
import { openWireClient, readRoomUpdates, type WireClient } from "./wire-client.ts";

/** What came out of killing a relay again and again. */
export interface KillReport {
  readonly rounds: number;
  readonly written: number;
  /** Records acknowledged to their writer before a kill. */
  readonly acknowledged: number;
  /** Records somebody else had seen before a kill. */
  readonly seenByOthers: number;
  /** Rounds in which the kill met records on their way: sent, but neither acknowledged nor seen. */
  readonly roundsWithRecordsUnderWay: number;
  /** Relays killed while they were starting. */
  readonly killedWhileStarting: number;
  readonly slowestStartMs: number;
}

const writerIds = [11, 12, 13, 14, 15];
/** Rooms stay small, so that all of one can be read in every round; the older ones are read at the end. */
const roundsPerRoom = 20;
/** What one writer may have under way. */
const maxUnacknowledged = 40;

/**
 * Kills a real relay at random moments while five writers append and two observers look on, and reads what its disk
 * holds before any of them comes back. Throws when something that was acknowledged, or that anybody but its writer had
 * seen, is not there as it was, or when a restart does not open.
 */
export async function runKillRounds(rounds: number, seed: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-kills-"));
  const prng = create(seed);
  const rooms: KillRoom[] = [];
  const report = { roundsWithRecordsUnderWay: 0, killedWhileStarting: 0, slowestStartMs: 0 };
  try {
    for (let round = 0; round < rounds; round += 1) {
      if (round % roundsPerRoom === 0) rooms.push(new KillRoom(`kill-${rooms.length}`));
      const room = rooms.at(-1) as KillRoom;
      if (round % 7 === 3) {
        await killStartingRelay(folder, int32(prng, 50, 600));
        report.killedWhileStarting += 1;
      }
      const startedAt = performance.now();
      const relay = await startRelayProcess(folder);
      report.slowestStartMs = Math.max(report.slowestStartMs, performance.now() - startedAt);
      try {
        await room.assertKept(relay.url, `round ${round}, seed ${seed}`);
        const ends = await room.write(relay.url, prng);
        await pass(int32(prng, 0, 600));
        await relay.kill();
        await ends();
        if (room.isMoreUnderWay()) report.roundsWithRecordsUnderWay += 1;
      } finally {
        await relay.kill();
      }
    }
    const relay = await startRelayProcess(folder);
    try {
      for (const room of rooms) await room.assertKept(relay.url, `at the end, seed ${seed}`);
    } finally {
      await relay.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const sum = (count: (room: KillRoom) => number): number => rooms.reduce((total, room) => total + count(room), 0);
  return {
    rounds,
    written: sum(({ written }) => written),
    acknowledged: sum(({ acknowledged }) => total(acknowledged)),
    seenByOthers: sum(({ seen }) => total(seen)),
    ...report,
  };
}

/** One room with its writers and what must be in it. Records hold client and clock, so that each can be told. */
class KillRoom {
  readonly acknowledged = new Map<number, number>();
  readonly seen = new Map<number, number>();
  readonly #name: string;
  readonly #docs = new Map(writerIds.map((id) => [id, createDoc(id)]));

  constructor(name: string) {
    this.#name = name;
  }

  get written(): number {
    return writerIds.reduce((count, id) => count + heldBy(this.#docOf(id), id), 0);
  }

  /** Whether more was sent than is known to have arrived. */
  isMoreUnderWay(): boolean {
    return writerIds.some((id) => heldBy(this.#docOf(id), id) > this.#promised(id));
  }

  /** Reads the room as a newcomer and compares it with what was promised. */
  async assertKept(relayUrl: string, when: string): Promise<void> {
    const doc = new Y.Doc();
    for (const update of await readRoomUpdates(`${relayUrl}/${this.#name}`)) Y.applyUpdate(doc, update);
    assert.equal(doc.store.pendingStructs, null, `${when}: something in the room waits for what is not there`);
    for (const id of writerIds) {
      const held = heldBy(doc, id);
      assert.ok(
        held >= this.#promised(id),
        `${when}: writer ${id} has ${held} records, of ${this.#promised(id)} promised`,
      );
    }
    const next = new Map(writerIds.map((id) => [id, 0]));
    for (const record of doc.getArray<Uint8Array>("entries").toArray()) {
      const [id, clock] = readRecord(record);
      assert.equal(clock, next.get(id), `${when}: a record of writer ${id} is not as it was written`);
      next.set(id, clock + 1);
    }
  }

  /** Opens writers and observers and lets them work until the relay ends; the result waits for that end. */
  async write(relayUrl: string, prng: PRNG): Promise<() => Promise<void>> {
    const url = `${relayUrl}/${this.#name}`;
    const observers = await Promise.all([this.#observe(url), this.#observe(url)]);
    const writers = await Promise.all(
      writerIds.map((id) => this.#startWriter(url, id, create(int32(prng, 0, 2 ** 30)))),
    );
    return async () => {
      await Promise.all([...observers, ...writers].map(({ closed }) => closed));
    };
  }

  async #observe(url: string): Promise<WireClient> {
    const doc = new Y.Doc();
    const client = await openWireClient(url, (frame) => {
      if (frame.type !== "update" && frame.type !== "syncStep2") return;
      Y.applyUpdate(doc, frame.update);
      for (const id of writerIds) raise(this.seen, id, heldBy(doc, id));
    });
    client.send({ type: "syncStep1", stateVector: new Map() });
    return client;
  }

  async #startWriter(url: string, id: number, prng: PRNG): Promise<WireClient> {
    const doc = this.#docOf(id);
    let isWriting = false;
    const client = await openWireClient(url, (frame) => {
      if (frame.type === "update" || frame.type === "syncStep2") {
        Y.applyUpdate(doc, frame.update);
        for (const other of writerIds) if (other !== id) raise(this.seen, other, heldBy(doc, other));
      }
      if (frame.type === "syncStep1") {
        const vector = Y.encodeStateVector(new Map(frame.stateVector));
        client.send({ type: "syncStep2", update: Y.encodeStateAsUpdate(doc, vector) });
        if (!isWriting) append();
        isWriting = true;
      }
      if (frame.type !== "ack") return;
      for (const pair of frame.pairs) raise(this.acknowledged, pair.client, pair.clock);
    });
    const append = (): void => {
      if (client.socket.readyState !== client.socket.OPEN) return;
      const clock = heldBy(doc, id);
      if (clock - this.#promised(id) < maxUnacknowledged) {
        const before = Y.encodeStateVector(doc);
        const count = int32(prng, 1, 4);
        const records = Array.from({ length: count }, (_, at) => createRecord(id, clock + at, int32(prng, 10, 3_000)));
        doc.getArray("entries").push(records);
        client.send({ type: "update", update: Y.encodeStateAsUpdate(doc, before) });
      }
      setTimeout(append, int32(prng, 0, 8));
    };
    client.send({ type: "ackRequest", version: protocolVersion, clients: [id] });
    client.send({ type: "syncStep1", stateVector: new Map(Y.decodeStateVector(Y.encodeStateVector(doc))) });
    return client;
  }

  #promised(id: number): number {
    return Math.max(this.acknowledged.get(id) ?? 0, this.seen.get(id) ?? 0);
  }

  #docOf(id: number): Y.Doc {
    return this.#docs.get(id) as Y.Doc;
  }
}

function createDoc(clientId: number): Y.Doc {
  const doc = new Y.Doc();
  doc.clientID = clientId;
  return doc;
}

const heldBy = (doc: Y.Doc, client: number): number => Y.getState(doc.store, client);

function raise(clocks: Map<number, number>, client: number, clock: number): void {
  clocks.set(client, Math.max(clocks.get(client) ?? 0, clock));
}

const total = (clocks: ReadonlyMap<number, number>): number =>
  [...clocks.values()].reduce((sum, clock) => sum + clock, 0);

function createRecord(client: number, clock: number, bytes: number): Uint8Array {
  const record = new Uint8Array(bytes).fill(clock % 256);
  new DataView(record.buffer).setUint32(0, client);
  new DataView(record.buffer).setUint32(4, clock);
  return record;
}

/** Client and clock of a record. Throws when its bytes are not those it was made of. */
function readRecord(record: Uint8Array): [client: number, clock: number] {
  const view = new DataView(record.buffer, record.byteOffset);
  const clock = view.getUint32(4);
  assert.ok(
    record.subarray(8).every((byte) => byte === clock % 256),
    "the bytes of a record were altered",
  );
  return [view.getUint32(0), clock];
}

/** The random moments are this check's subject: nothing waits for them. */
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
