import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type AwarenessState, encodeFrame, maxFrameBytes } from "@coppice/wire";
import { create, int32, type PRNG, uint8Array } from "lib0/prng";
import * as Y from "yjs";
import { createBadFrame, readSeeds } from "./hostile-frames.ts";
import type { HostileLab } from "./hostile-lab.ts";
import { createHostileUpdates } from "./hostile-updates.ts";
import { openStockClient } from "./stock-client.ts";
import { openWireClient, readRoomUpdates, type WireClient } from "./wire-client.ts";

/** How much of everything. */
export interface HostileCheckOptions {
  readonly seed: number;
  /** Random and mutated frames. */
  readonly frames: number;
  readonly brokenStreams: number;
  readonly cursors: number;
  readonly connects: number;
  /** What is appended while a reader does not read, bytes. */
  readonly unreadBytes: number;
}

/** One kind of attack. `run` gives the figures, or throws when something gave way. */
export interface HostileCheck {
  readonly name: string;
  run(lab: HostileLab): Promise<string>;
}

/** The attacks, to be run one after the other on one lab, which is looked at after each. */
export function createHostileChecks(options: HostileCheckOptions): HostileCheck[] {
  const prng = create(options.seed);
  return [
    { name: "random and mutated frames", run: (lab) => sendBadFrames(lab, prng, options.frames) },
    { name: "updates that must not be kept", run: sendHostileUpdates },
    { name: "odd but valid updates", run: sendOddUpdates },
    { name: "text and oversized messages", run: sendWrongMessages },
    { name: "broken websocket streams", run: (lab) => sendBrokenStreams(lab, prng, options.brokenStreams) },
    { name: "forged cursors", run: (lab) => forgeCursors(lab, options.cursors) },
    { name: "connects", run: (lab) => connectOften(lab, options.connects) },
    { name: "a reader that never reads", run: (lab) => leaveUnread(lab, options.unreadBytes) },
  ];
}

/** A connection ends with one of its first bad frames, so each sends only a few. */
const framesPerConnection = 3;
const parallel = 10;

async function sendBadFrames(lab: HostileLab, prng: PRNG, count: number): Promise<string> {
  const seeds = readSeeds();
  const codes = new Map<number, number>();
  let connections = 0;
  let left = count;
  const attack = async (at: number): Promise<void> => {
    while (left > 0) {
      connections += 1;
      const sent = Math.min(left, framesPerConnection);
      left -= sent;
      const room = `fuzz-${(connections + at) % 20}`;
      lab.noteRoom(room);
      const client = await openWireClient(`${lab.url}/${room}`);
      for (let frame = 0; frame < sent; frame += 1) client.socket.send(createBadFrame(prng, seeds));
      const code = await closedOrAnswered(client);
      codes.set(code ?? 0, (codes.get(code ?? 0) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: parallel }, (_, at) => attack(at)));
  for (const code of codes.keys()) assert.ok(code === 0 || isFinal(code), `a bad frame was answered with ${code}`);
  const refused = [...codes].filter(([code]) => code !== 0).map(([code, times]) => `${code}: ${times}`);
  return `${count} frames over ${connections} connections; ${codes.get(0) ?? 0} went on, closed ${refused.sort().join(", ")}`;
}

async function sendHostileUpdates(lab: HostileLab): Promise<string> {
  const attacks = createHostileUpdates(lab.honest);
  let closed = 0;
  for (const [at, { name, updates, isOffence }] of attacks.entries()) {
    const room = `attack-${at}`;
    await lab.writeHonestRoom(room);
    for (const type of ["update", "syncStep2"] as const) {
      let questions = 0;
      const client = await openWireClient(`${lab.url}/${room}`, (frame) => {
        if (frame.type === "syncStep1") questions += 1;
      });
      for (const update of updates) client.send({ type, update });
      const code = await closedOrAnswered(client);
      if (isOffence) assert.ok(code !== undefined && isFinal(code), `${name}: ${code === undefined ? "taken" : code}`);
      else assert.equal(code, undefined, `${name}: closed with ${code}`);
      assert.ok(questions <= 2, `${name}: the relay asked ${questions} times`);
      if (code !== undefined) closed += 1;
    }
  }
  return `${attacks.length} kinds, ${closed} connections closed with a final code`;
}

/** Client ids that some decoders cut off or take for negative. */
const oddClientIds = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];

async function sendOddUpdates(lab: HostileLab): Promise<string> {
  lab.noteRoom("odd");
  const client = await openWireClient(`${lab.url}/odd`);
  const doc = new Y.Doc();
  doc.on("update", (update: Uint8Array) => client.send({ type: "update", update }));
  for (let round = 0; round < 3; round += 1) {
    for (const id of oddClientIds) {
      doc.clientID = id;
      // Empty records too.
      doc.getArray("entries").push([new Uint8Array(round), new Uint8Array(1)]);
    }
  }
  for (const id of oddClientIds) await untilHeld(client, id, 6);
  client.socket.terminate();
  const copy = new Y.Doc();
  for (const update of await readRoomUpdates(`${lab.url}/odd`)) Y.applyUpdate(copy, update);
  assert.deepEqual(copy.getArray("entries").toArray(), doc.getArray("entries").toArray());
  return `${doc.getArray("entries").length} records, some empty, of ${oddClientIds.length} client ids up to 2^53 - 1, read back the same`;
}

async function sendWrongMessages(lab: HostileLab): Promise<string> {
  const url = `${lab.url}/messages`;
  lab.noteRoom("messages");
  const codes: number[] = [];
  for (const message of ["", "ping", "[1]", "x".repeat(100_000), new Uint8Array(), new Uint8Array(maxFrameBytes + 1)]) {
    const client = await openWireClient(url);
    client.socket.send(message);
    codes.push(await client.closed);
  }
  assert.ok(codes.every(isFinal), `closed with ${codes}`);
  // As large as a frame may be, and nothing in it.
  for (let at = 0; at < 3; at += 1) {
    const client = await openWireClient(url);
    client.send({ type: "update", update: new Uint8Array(maxFrameBytes - 8) });
    codes.push(await client.closed);
  }
  return `${codes.length} messages, closed with ${[...new Set(codes)].join(", ")}`;
}

async function sendBrokenStreams(lab: HostileLab, prng: PRNG, count: number): Promise<string> {
  lab.noteRoom("streams");
  let upgraded = 0;
  for (let at = 0; at < count; at += 1) {
    const socket = connect(Number(new URL(lab.url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    const ended = once(socket, "close");
    const kind = at % 4;
    if (kind === 0) socket.write(uint8Array(prng, int32(prng, 1, 400)));
    else {
      const key = Buffer.from(uint8Array(prng, 16)).toString("base64");
      socket.write(
        `GET /streams HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
      );
      await once(socket, "data");
      upgraded += 1;
      // Random bytes; a frame without a mask; a masked one that promises 2^40 bytes or never ends.
      if (kind === 1) socket.write(uint8Array(prng, int32(prng, 2, 400)));
      else if (kind === 2) socket.write(Uint8Array.of(0x82, 5, 0, 2, 2, 0, 0));
      else socket.write(Uint8Array.of(0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, ...uint8Array(prng, 40)));
    }
    // Some leave without a word, some are left to the relay.
    if (at % 3 === 0) socket.resetAndDestroy();
    else socket.end();
    socket.resume();
    await ended;
  }
  return `${count} streams, ${upgraded} of them behind a valid upgrade`;
}

async function forgeCursors(lab: HostileLab, count: number): Promise<string> {
  lab.noteRoom("cursors");
  const witness = openStockClient(lab.url, "cursors");
  try {
    await witness.until(() => witness.provider.synced);
    const { awareness } = witness.provider;
    awareness.setLocalState({ name: "witness" });
    const own = awareness.clientID;
    let seenAtMost = 0;
    awareness.on("update", () => {
      seenAtMost = Math.max(seenAtMost, awareness.getStates().size);
    });
    const forger = await openWireClient(`${lab.url}/cursors`);
    const seen = forger.next("awareness", ({ states }) => states.some(({ client }) => client === own));
    forger.send({ type: "syncStep1", stateVector: new Map() });
    await seen;
    for (let sent = 0; sent < count; sent += 400) {
      const states = Array.from({ length: Math.min(400, count - sent) }, (_, at): AwarenessState => {
        const isTheirs = at % 50 === 0;
        return {
          client: isTheirs ? own : 1_000_000 + sent + at,
          clock: 1_000 + sent,
          state: isTheirs ? "null" : '{"a":1}',
        };
      });
      forger.send({ type: "awareness", states });
    }
    assert.equal(await answered(forger), undefined, "the forger was closed");
    await witness.until(() => awareness.getStates().size === 2);
    assert.ok(awareness.getStates().has(own), "the witness was removed at itself");
    const newcomer = await openWireClient(`${lab.url}/cursors`);
    const shown = newcomer.next("awareness", ({ states }) => states.length > 0);
    newcomer.send({ type: "syncStep1", stateVector: new Map() });
    const { states } = await shown;
    assert.equal(states.length, 2, `a newcomer was shown ${states.length} cursors`);
    assert.ok(states.some(({ client, state }) => client === own && state.includes("witness")));
    newcomer.socket.terminate();
    forger.socket.terminate();
    await witness.until(() => awareness.getStates().size === 1);
    return `${count} forged by one connection; others saw ${seenAtMost - 1} of them, the witness stayed`;
  } finally {
    witness.destroy();
  }
}

/** As many sockets at a time as a process may surely have. */
const socketsAtOnce = 500;

async function connectOften(lab: HostileLab, count: number): Promise<string> {
  const startedAt = performance.now();
  for (let opened = 0; opened < count; opened += socketsAtOnce) {
    const clients = await Promise.all(
      Array.from({ length: Math.min(socketsAtOnce, count - opened) }, (_, at) =>
        openWireClient(`${lab.url}/connects-${at % 50}`),
      ),
    );
    for (const [at, client] of clients.entries()) {
      if (at % 2 === 0) client.send({ type: "syncStep1", stateVector: new Map() });
      if (at % 3 === 0) client.socket.terminate();
      else client.socket.close();
    }
    await Promise.all(clients.map(({ closed }) => closed));
  }
  for (let at = 0; at < 50; at += 1) lab.noteRoom(`connects-${at}`);
  return `${count} connections to 50 rooms, ${socketsAtOnce} at a time, ${Math.round((count * 1_000) / (performance.now() - startedAt))}/s`;
}

async function leaveUnread(lab: HostileLab, bytes: number): Promise<string> {
  lab.noteRoom("unread");
  const url = `${lab.url}/unread`;
  const readers = await Promise.all([openWireClient(url), openWireClient(url), openWireClient(url)]);
  for (const reader of readers) {
    const caughtUp = reader.next("syncStep1");
    reader.send({ type: "syncStep1", stateVector: new Map() });
    await caughtUp;
    reader.socket.pause();
  }
  const doc = new Y.Doc();
  doc.clientID = 9;
  const writer = await openWireClient(url);
  doc.on("update", (update: Uint8Array) => writer.send({ type: "update", update }));
  const recordBytes = 250_000;
  const count = Math.ceil(bytes / recordBytes);
  for (let at = 1; at <= count; at += 1) {
    doc.getArray("entries").push([new Uint8Array(recordBytes).fill(at)]);
    if (at % 8 === 0 || at === count) await untilHeld(writer, 9, at);
  }
  for (const reader of readers) reader.socket.terminate();
  writer.socket.terminate();
  await Promise.all([...readers, writer].map(({ closed }) => closed));
  return `${(count * recordBytes) / 1e6} MB appended, 3 of 3 readers read nothing`;
}

async function untilHeld(client: WireClient, id: number, clock: number): Promise<void> {
  const held = client.next("ack", ({ pairs }) => pairs.some((pair) => pair.client === id && pair.clock >= clock));
  client.send({ type: "ackRequest", version: 1, clients: [id] });
  await held;
}

const isFinal = (code: number): boolean => code >= 4400 && code < 4500;

/** The code a connection was closed with, or undefined when the relay has handled all that was sent and goes on; then it is left. */
async function closedOrAnswered(client: WireClient): Promise<number | undefined> {
  const code = await answered(client);
  client.socket.terminate();
  await client.closed;
  return code;
}

async function answered(client: WireClient): Promise<number | undefined> {
  // No relay knows this sub type, and says so.
  const refused = client.next("refused", ({ reason }) => reason.includes("67/4242"));
  if (client.socket.readyState === client.socket.OPEN) {
    client.socket.send(encodeFrame({ type: "unknownExtension", subType: 4_242, payload: new Uint8Array() }));
  }
  return Promise.race([refused.then(() => undefined), client.closed]).catch(() => client.closed);
}
