import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame } from "@coppice/wire";
import * as Y from "yjs";
import { startCuttingProxy, startFrameProxy } from "./frame-proxy.ts";
import { type RelayProcess, startRelayProcess } from "./processes.ts";
import { askWhatIsMissing, openStockClient, type StockClient } from "./stock-client.ts";
import { openWireClient } from "./wire-client.ts";

/** One promise to stock y-websocket clients. `run` gives the figures, or throws. */
export interface StockCheck {
  readonly name: string;
  run(): Promise<string>;
}

/** How long things last that only time shows. */
export interface StockCheckOptions {
  /** How long the relay is away, ms. */
  readonly downtimeMs: number;
  /** How long clients are left idle, ms. y-websocket gives a connection up that was silent for 30 s. */
  readonly idleMs: number;
  /** How often a client with that option compares with the relay, ms. */
  readonly resyncIntervalMs: number;
}

/** The checks, to be run one after the other, each with a relay process of its own. */
export function createStockChecks(options: StockCheckOptions): StockCheck[] {
  const check = (name: string, run: (lab: StockLab) => Promise<string>): StockCheck => ({
    name,
    async run() {
      const lab = new StockLab();
      try {
        return await run(lab);
      } finally {
        await lab.close();
      }
    },
  });
  return [
    check("[RL16] [RL17] stock clients sync, and what each appends arrives at the others", appendInTurn),
    check("[RL16] F5: at the very moment a stock client says it is synced, it has all of a large room", syncLargeRoom),
    check("[RL21] [RL24] the cursors of twenty stock clients are not multiplied", moveCursors),
    check("[RL19] stock clients come back by themselves after the relay was away", (lab) => comeBack(lab, options)),
    check("[RL9] [RL16] a stock client that was long offline brings the records of many", bringManyClients),
    check(
      "[RL11] [RL25] idle stock clients stay connected, also one that waits for records, and no messages storm",
      (lab) => stayIdle(lab, options),
    ),
    check("[RL11] [RL16] F17: a stock client that is cut off in the middle of a frame loses nothing", cutInFrame),
    check(
      "[RL16] F21: the last frame of a stock client is lost, either way, and its own comparison repairs it",
      (lab) => loseLastFrame(lab, options),
    ),
  ];
}

/** A relay process on a folder, and stock clients; all closed at the end. */
class StockLab {
  readonly #folder = mkdtempSync(join(tmpdir(), "coppice-stock-"));
  readonly #cleanups: (() => void | Promise<void>)[] = [];

  async startRelay(port = 0): Promise<RelayProcess> {
    const relay = await startRelayProcess(this.#folder, port);
    this.onClose(() => relay.kill());
    return relay;
  }

  open(url: string, options: Parameters<typeof openStockClient>[2] = {}): StockClient {
    const client = openStockClient(url, "room", options);
    this.onClose(() => client.destroy());
    return client;
  }

  onClose(cleanup: () => void | Promise<void>): void {
    this.#cleanups.push(cleanup);
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function appendInTurn(lab: StockLab): Promise<string> {
  const relay = await lab.startRelay();
  const clients = [lab.open(relay.url), lab.open(relay.url), lab.open(relay.url)];
  await Promise.all(clients.map(synced));
  const tookMs: number[] = [];
  for (let at = 0; at < 150; at += 1) {
    const startedAt = performance.now();
    (clients[at % 3] as StockClient).entries.push([Uint8Array.of(at)]);
    await Promise.all(clients.map((client) => client.until(() => client.entries.length > at)));
    tookMs.push(performance.now() - startedAt);
  }
  assertSame(clients, 150);
  return `150 appends by 3 clients, ${ms(quantile(tookMs, 0.5))} until all have one, p99 ${ms(quantile(tookMs, 0.99))}`;
}

async function syncLargeRoom(lab: StockLab): Promise<string> {
  const relay = await lab.startRelay();
  const writer = lab.open(relay.url);
  await synced(writer);
  const count = 1_200;
  for (let at = 0; at < count; at += 1) writer.entries.push([new Uint8Array(4_500).fill(at)]);
  await untilRelayHolds(`${relay.url}/room`, writer.doc);
  const reader = lab.open(relay.url);
  const lengthAtSync = await new Promise<number>((resolve) => {
    reader.provider.once("sync", () => resolve(reader.entries.length));
  });
  assert.equal(lengthAtSync, count, "synced before all was there");
  return `${count} records of 4.5 kB, ${lengthAtSync} at the tick of "sync"`;
}

async function moveCursors(lab: StockLab): Promise<string> {
  const relay = await lab.startRelay();
  // Each provider listens for the end of the process.
  process.setMaxListeners(Math.max(process.getMaxListeners(), 40));
  const clients = Array.from({ length: 20 }, () => lab.open(relay.url));
  await Promise.all(clients.map(synced));
  const seenBy = (client: StockClient, key: string, value: unknown): number =>
    [...client.provider.awareness.getStates().values()].filter((state) => state[key] === value).length;
  clients.forEach((client, at) => {
    client.provider.awareness.setLocalState({ name: `client ${at}`, here: true });
  });
  await Promise.all(clients.map((client) => client.until(() => seenBy(client, "here", true) === 20)));
  await Promise.all(clients.map(settle));
  const count = (): number => clients.reduce((sum, { traffic }) => sum + traffic.receivedCursors, 0);
  const before = count();
  const moves = 25;
  const mover = clients[0] as StockClient;
  for (let at = 1; at <= moves; at += 1) {
    mover.provider.awareness.setLocalStateField("at", at);
    await Promise.all(clients.map((client) => client.until(() => seenBy(client, "at", at) === 1)));
  }
  await Promise.all(clients.map(settle));
  const perMove = (count() - before) / moves;
  // The mover's own cursor is not sent to it: 19 others. Answers to what settles the clients add one each.
  assert.ok(perMove >= 19 && perMove <= 22, `${perMove} frames for one move among 20 clients`);
  return `${perMove.toFixed(1)} frames for a move among 20 clients (each of them echoes what it gets)`;
}

async function comeBack(lab: StockLab, { downtimeMs }: StockCheckOptions): Promise<string> {
  const relay = await lab.startRelay();
  const clients = [lab.open(relay.url), lab.open(relay.url), lab.open(relay.url)];
  await Promise.all(clients.map(synced));
  for (let at = 0; at < 10; at += 1) clients[0]?.entries.push([Uint8Array.of(at)]);
  await Promise.all(clients.map((client) => client.until(() => client.entries.length === 10)));
  await relay.stop();
  for (const client of clients) client.entries.push([Uint8Array.of(99)]);
  await new Promise((resolve) => setTimeout(resolve, downtimeMs));
  await lab.startRelay(relay.port);
  const startedAt = performance.now();
  await Promise.all(
    clients.map((client) => client.until(() => client.provider.synced && client.entries.length === 13)),
  );
  const tookMs = performance.now() - startedAt;
  assertSame(clients, 13);
  return `after ${downtimeMs / 1000} s away, all are back and equal ${ms(tookMs)} after the relay`;
}

async function bringManyClients(lab: StockLab): Promise<string> {
  const relay = await lab.startRelay();
  // Each of many devices appended behind what it had got: origins point from client to client.
  const clientCount = 1_000;
  const doc = new Y.Doc();
  for (let at = 0; at < clientCount; at += 1) {
    doc.clientID = 1 + ((at * 7919) % 1_000_003);
    for (let more = 0; more < 3; more += 1) doc.getArray("entries").push([Uint8Array.of(at % 256, more)]);
  }
  const returning = lab.open(relay.url, { doc });
  await synced(returning);
  await untilRelayHolds(`${relay.url}/room`, doc);
  const reader = lab.open(relay.url);
  await synced(reader);
  assertSame([returning, reader], 3 * clientCount);
  return `${3 * clientCount} records of ${clientCount} clients, taken at once`;
}

async function stayIdle(lab: StockLab, { idleMs }: StockCheckOptions): Promise<string> {
  const relay = await lab.startRelay();
  const writer = new Y.Doc();
  const updates: Uint8Array[] = [];
  writer.on("update", (update: Uint8Array) => updates.push(update));
  for (let at = 0; at < 3; at += 1) writer.getArray("entries").push([Uint8Array.of(at)]);
  const waitingDoc = new Y.Doc();
  for (const update of updates.filter((_, at) => at !== 1)) Y.applyUpdate(waitingDoc, update);
  assert.notEqual(waitingDoc.store.pendingStructs, null, "one record waits");

  const waiting = lab.open(relay.url, { doc: waitingDoc });
  const others = [lab.open(relay.url), lab.open(relay.url)];
  const all = [waiting, ...others];
  await Promise.all(all.map(synced));
  await Promise.all(others.map((client) => client.until(() => client.entries.length === 1)));
  const before = all.map(({ traffic }) => ({ ...traffic }));
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const idle = all.map(({ traffic }, at) => {
    const start = before[at] ?? traffic;
    assert.equal(traffic.connections, 1, "a client connected again");
    const sync = traffic.sync - start.sync;
    assert.ok(sync < 10, `${sync} messages of an idle client`);
    return { sync, all: traffic.sent - start.sent + traffic.received - start.received };
  });
  const writerClient = lab.open(relay.url, { doc: writer });
  await synced(writerClient);
  await Promise.all(all.map((client) => client.until(() => client.entries.length === 3)));
  assertSame([...all, writerClient], 3);
  return `${idleMs / 1000} s without a reconnect; the one that waits for a record: ${idle[0]?.sync} messages about records and ${idle[0]?.all} in all, with the cursors of three; another: ${idle[1]?.sync} and ${idle[1]?.all}; then the missing record came and all are equal`;
}

async function cutInFrame(lab: StockLab): Promise<string> {
  const relay = await lab.startRelay();
  const proxy = await startCuttingProxy(relay.url);
  lab.onClose(() => proxy.close());
  const client = lab.open(proxy.url);
  const reader = lab.open(relay.url);
  await Promise.all([client, reader].map(synced));
  client.entries.push([Uint8Array.of(1)]);
  await reader.until(() => reader.entries.length === 1);
  proxy.cutNextAfter(300_000);
  client.entries.push([new Uint8Array(1_000_000).fill(2)]);
  await reader.until(() => reader.entries.length === 2);
  client.entries.push([Uint8Array.of(3)]);
  await reader.until(() => reader.entries.length === 3);
  assertSame([client, reader], 3);
  assert.equal(client.traffic.connections, 2, "the connection was cut once");
  return "cut after 300 kB of a record of 1 MB: both have all three records after one reconnect";
}

async function loseLastFrame(lab: StockLab, { resyncIntervalMs }: StockCheckOptions): Promise<string> {
  const relay = await lab.startRelay();
  let lost = 0;
  let losesFrom: "client" | "relay" | undefined;
  const loses = (frame: Frame, from: "client" | "relay"): boolean => {
    if (from !== losesFrom || frame.type !== "update") return false;
    losesFrom = undefined;
    lost += 1;
    return true;
  };
  const proxy = await startFrameProxy(relay.url, loses);
  lab.onClose(() => proxy.close());
  const client = lab.open(proxy.url, { resyncIntervalMs });
  const other = lab.open(relay.url);
  await Promise.all([client, other].map(synced));
  const tookMs: number[] = [];
  for (const from of ["client", "relay"] as const) {
    losesFrom = from;
    const count = client.entries.length + 1;
    const startedAt = performance.now();
    (from === "client" ? client : other).entries.push([Uint8Array.of(count)]);
    await Promise.all([client, other].map((one) => one.until(() => one.entries.length === count)));
    tookMs.push(performance.now() - startedAt);
  }
  assert.equal(lost, 2, "both frames were lost");
  assertSame([client, other], 2);
  return `client to relay repaired after ${ms(tookMs[0] ?? 0)}, relay to client after ${ms(tookMs[1] ?? 0)}, comparing every ${resyncIntervalMs / 1000} s`;
}

const synced = (client: StockClient): Promise<void> => client.until(() => client.provider.synced);

/** Settles when all the relay had to send this client by now has come: the answer to a question stands behind it. */
async function settle(client: StockClient): Promise<void> {
  const { provider } = client;
  const answered = new Promise<void>((resolve) => {
    provider.ws?.addEventListener("message", function look({ data }) {
      const bytes = new Uint8Array(data as ArrayBuffer);
      if (bytes[0] !== 0 || bytes[1] !== 1) return;
      provider.ws?.removeEventListener("message", look);
      resolve();
    });
  });
  askWhatIsMissing(provider);
  await answered;
}

/** Settles when the relay says that it holds all of a document. */
async function untilRelayHolds(url: string, doc: Y.Doc): Promise<void> {
  const client = await openWireClient(url);
  for (let isHeld = false; !isHeld; ) {
    client.send({ type: "syncStep1", stateVector: Y.decodeStateVector(Y.encodeStateVector(doc)) });
    const { stateVector } = await client.next("syncStep1");
    isHeld = [...Y.decodeStateVector(Y.encodeStateVector(doc))].every(([id, clock]) => stateVector.get(id) === clock);
  }
  client.socket.close();
  await client.closed;
}

function assertSame(clients: readonly StockClient[], count: number): void {
  const [first, ...others] = clients.map(({ entries }) => entries.toArray());
  assert.equal(first?.length, count);
  for (const other of others) assert.deepEqual(other, first, "two clients differ");
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
