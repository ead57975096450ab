import { encodeFrame, encodeUpdate, type Frame, parseUpdate } from "@coppice/wire";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import * as Y from "yjs";
import { Replica } from "../src/replica.ts";
import type { SyncStatus } from "../src/sync-status.ts";
import type { RelayLinkTimings, WebSocketConstructor } from "../src/workspace-types.ts";
import { pairOf } from "./ack-pairs.ts";
import { PlainLog } from "./plain-log.ts";
import { answerWithoutAcks, type RawRelay, startRawRelay } from "./raw-relay.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openRelay(...handler: Parameters<typeof startRawRelay>): Promise<RawRelay> {
  const relay = await startRawRelay(...handler);
  closing.push(() => relay.close());
  return relay;
}

async function openReplica(relay: RawRelay, log = new PlainLog(), timings: Partial<RelayLinkTimings> = {}) {
  const replica = await Replica.open({
    log,
    roomId: "room",
    relay: relay.url,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50, ...timings },
  });
  closing.push(() => replica.close());
  return replica;
}

function push(replica: Replica, ...bytes: number[]): void {
  replica.doc.getArray("entries").push(bytes.map((byte) => Uint8Array.of(byte)));
}

function until(replica: Replica, isReached: (status: SyncStatus) => boolean): Promise<boolean> {
  return replica.waitFor(isReached, 30_000);
}

describe("Replica", () => {
  it("[CL1] a record is sent only once it is durable here", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const log = new PlainLog();
    const replica = await openReplica(relay, log);
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    log.hold();
    push(replica, 1);
    expect(replica.status()).toMatchObject({ unsaved: 1, pending: 0 });
    // The relay asks in between: the answer must not hold the record either.
    relay.sockets[0]?.send(Uint8Array.of(0, 0, 1, 0));
    relay.sockets[0]?.ping();
    await new Promise((resolve) => relay.sockets[0]?.once("pong", resolve));
    const isUpdate = (frame: { type: string }): boolean => frame.type === "update";
    expect(relay.frames.filter(({ frame }) => isUpdate(frame))).toEqual([]);
    log.release();
    await relay.waitForFrame(isUpdate);
    expect(replica.status()).toMatchObject({ unsaved: 0, pending: 1 });
    expect(log.updates).toHaveLength(1);
  });

  it("[CL3] the first question to the relay holds all of the local log", async () => {
    const log = new PlainLog();
    const relay = await openRelay(answerWithoutAcks);
    const writer = await openReplica(relay, log);
    push(writer, 1, 2, 3);
    await writer.flushed();
    await writer.close();
    const replica = await openReplica(relay, log);
    expect(relay.sockets).toHaveLength(0);
    replica.connect();
    const question = await relay.waitForFrame(({ type }) => type === "syncStep1");
    expect(question).toMatchObject({ stateVector: new Map([[writer.doc.clientID, 3]]) });
  });

  it("[CL4] what the relay lacks is sent in chunks, a record that is larger alone (F50)", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay);
    const entries = replica.doc.getArray("entries");
    for (let at = 0; at < 10; at += 1) entries.push([new Uint8Array(100_000).fill(at)]);
    entries.push([new Uint8Array(400_000)]);
    replica.connect();
    await relay.waitForFrame(({ type }) => type === "syncStep2");
    const sizes = relay.frames.flatMap(({ frame }) => (frame.type === "update" ? [frame.update.length] : []));
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes.filter((size) => size > 256 * 1024)).toHaveLength(1);
  });

  it("[CL5] what the relay acknowledged or sent is not pending; a relay that lost it makes it pending again", async () => {
    let remembers = true;
    const relay = await openRelay((frame, answer) => {
      if (frame.type === "ackRequest")
        answer({ type: "ack", pairs: remembers ? [pairOf(replica.doc, replica.doc.clientID, 2)] : [] });
      if (frame.type === "syncStep1") answer({ type: "syncStep2", update: encodeUpdate([]) });
    });
    const replica = await openReplica(relay);
    push(replica, 1, 2, 3);
    expect(await until(replica, ({ pending }) => pending === 3)).toBe(true);
    replica.connect();
    expect(await until(replica, ({ pending }) => pending === 1)).toBe(true);
    remembers = false;
    relay.sockets[0]?.terminate();
    expect(await until(replica, ({ pending }) => pending === 3)).toBe(true);
  });

  it("[CL5] records from the relay do not count as waiting after a process was killed", async () => {
    const source = new Y.Doc();
    source.getArray("entries").push([Uint8Array.of(1), Uint8Array.of(2)]);
    const relay = await openRelay((frame, answer) => {
      if (frame.type === "syncStep1") answer({ type: "syncStep2", update: Y.encodeStateAsUpdate(source) });
    });
    const log = new PlainLog();
    const replica = await openReplica(relay, log);
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    await replica.flushed();
    // Not closed: what a kill leaves behind is what the log holds now.
    const again = await Replica.open({ log, roomId: "room" });
    closing.push(() => again.close());
    expect(again.doc.getArray("entries").length).toBe(2);
    expect(again.status().pending).toBe(0);
  });

  it("[CL6] unacknowledged records are sent again, then the connection is given up and made anew (F9, F21)", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay, new PlainLog(), { resendAfterMs: 100 });
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    push(replica, 1);
    await until(replica, ({ relay }) => relay.state === "offline");
    const updates = relay.frames.filter(({ frame, connection }) => frame.type === "update" && connection === 0);
    expect(updates.length).toBeGreaterThan(1);
    await relay.waitForFrame((frame, connection) => frame.type === "update" && connection === 1);
  });

  it("[CL7] synced ends with the connection and comes back with the next answer (F11)", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay);
    expect(replica.status().relay.state).not.toBe("live");
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    relay.sockets[0]?.terminate();
    await until(replica, (status) => status.relay.state !== "live");
    expect(await until(replica, ({ relay }) => relay.state === "live")).toBe(true);
    expect(relay.sockets.length).toBe(2);
  });

  it.each([
    ["a text frame", (relay: RawRelay) => relay.sockets[0]?.send("hello")],
    ["garbage", (relay: RawRelay) => relay.sockets[0]?.send(Uint8Array.of(0, 2, 255, 255, 255))],
    ["an update that deletes", (relay: RawRelay) => relay.sockets[0]?.send(Uint8Array.of(0, 2, 6, 0, 1, 5, 1, 0, 1))],
    ["a final close code", (relay: RawRelay) => relay.sockets[0]?.close(4403, "not for you")],
  ])("[CL9] %s ends the connection for good, and the status says so", async (_what, misbehave) => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay);
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    misbehave(relay);
    await replica.waitFor(({ relay }) => relay.state === "refused", 30_000);
    const refusal = replica.status().relay;
    expect(refusal).toMatchObject({ state: "refused", reason: expect.stringMatching(/./) });
    expect("code" in refusal && refusal.code).toBeGreaterThanOrEqual(4400);
    push(replica, 1);
    await replica.flushed();
    expect(replica.status().pending).toBe(1);
  });

  it("[CL43] an idle connection says nothing but a digest in every interval", async () => {
    const relay = await openRelay((frame, answer) => {
      answerWithoutAcks(frame, answer);
      if (frame.type === "digest") answer(frame);
    });
    const replica = await openReplica(relay, new PlainLog(), { resendAfterMs: 150, resyncIntervalMs: 400 });
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    let digests = 0;
    while (digests < 4) {
      await new Promise((resolve) => relay.sockets[0]?.once("message", resolve));
      digests = relay.frames.filter(({ frame }) => frame.type === "digest").length;
    }
    const types = relay.frames.map(({ frame }) => frame.type);
    expect(types.slice(types.indexOf("digest"))).toEqual(["digest", "digest", "digest", "digest"]);
    expect(types.indexOf("digest")).toBeLessThan(5);
    expect(relay.sockets).toHaveLength(1);
  });

  it("[CL9] conflicting history that no record of the relay's explains is for good after a few connections", async () => {
    const relay = await openRelay((frame, answer, connection) => {
      answerWithoutAcks(frame, answer);
      if (frame.type === "update") relay.sockets[connection]?.close(4409, "conflicting history");
    });
    const replica = await openReplica(relay);
    push(replica, 1);
    await replica.flushed();
    replica.connect();
    await replica.waitFor(({ relay }) => relay.state === "refused", 30_000);
    expect(replica.status()).toMatchObject({ relay: { state: "refused", code: 4409 }, pending: 1 });
    expect(relay.sockets).toHaveLength(4);
  });

  it("[CL9] a close code of the later kind is retried", async () => {
    const relay = await openRelay((frame, answer, connection) => {
      if (connection === 0) relay.sockets[0]?.close(4503, "restarting");
      else answerWithoutAcks(frame, answer);
    });
    const replica = await openReplica(relay);
    replica.connect();
    expect(await until(replica, ({ relay }) => relay.state === "live")).toBe(true);
  });

  it("[CL10] the cursor is sent when it changes and taken down when the replica closes", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay);
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    replica.awareness.setLocalState({ v: 1, sealed: "x" });
    await relay.waitForFrame(
      (frame) => frame.type === "awareness" && frame.states[0]?.state.includes("sealed") === true,
    );
    await replica.close();
    await relay.waitForFrame((frame) => frame.type === "awareness" && frame.states[0]?.state === "null");
  });

  it("[CL11] a client id that the log holds already is not used again, and the cursor goes by the new one", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const log = new PlainLog();
    const first = await openReplica(relay, log);
    const usedId = first.doc.clientID;
    push(first, 1);
    await first.flushed();
    const second = await Replica.open({ log, roomId: "room", clientId: usedId });
    closing.push(() => second.close());
    expect(second.doc.clientID).not.toBe(usedId);
    expect(second.awareness.clientID).toBe(second.doc.clientID);
  });

  it("[CL12] a relay that falls silent is given up, one that gives signs of life is not (F11)", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay, new PlainLog(), { resendAfterMs: 100 });
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    for (let pings = 0; pings < 5; pings += 1) await new Promise((resolve) => relay.sockets[0]?.once("ping", resolve));
    expect(replica.status()).toMatchObject({ relay: { state: "live" } });
    expect(relay.sockets).toHaveLength(1);
    relay.sockets[0]?.pause();
    expect(await until(replica, ({ relay }) => relay.state === "offline")).toBe(true);
    expect(await until(replica, ({ relay }) => relay.state === "live")).toBe(true);
  });

  it("[CL12] a relay that only pretends to live is given up when it leaves a comparison unanswered", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay, new PlainLog(), { resendAfterMs: 100, resyncIntervalMs: 200 });
    replica.connect();
    await relay.waitForFrame(({ type }) => type === "digest");
    expect(await until(replica, ({ relay }) => relay.state === "offline")).toBe(true);
    expect(relay.sockets).toHaveLength(1);
  });

  it("[CL7] synced is not claimed while records wait for others, and what is missing is asked for until it comes", async () => {
    const writer = new Y.Doc();
    const updates: Uint8Array[] = [];
    writer.on("update", (update) => updates.push(update));
    for (let at = 0; at < 3; at += 1) writer.getArray("entries").push([Uint8Array.of(at)]);
    let questions = 0;
    const relay = await openRelay((frame, answer) => {
      if (frame.type === "ackRequest") answer({ type: "ack", pairs: [] });
      if (frame.type !== "syncStep1") return;
      questions += 1;
      // The first update is lost on the way, and so is the answer to the second question.
      const [, second, third] = updates;
      if (questions === 1 && second !== undefined && third !== undefined) {
        answer({ type: "syncStep2", update: encodeUpdate([]) });
        answer({ type: "update", update: second });
        answer({ type: "update", update: third });
      } else if (questions > 2) answer({ type: "syncStep2", update: Y.encodeStateAsUpdate(writer) });
    });
    const replica = await openReplica(relay, new PlainLog(), { resendAfterMs: 200 });
    const claims: { synced: boolean; waiting: boolean }[] = [];
    replica.subscribe(() => {
      claims.push({
        synced: replica.status().relay.state === "live",
        waiting: replica.doc.store.pendingStructs !== null,
      });
    });
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live" && replica.doc.getArray("entries").length === 3);
    expect(claims.some(({ waiting }) => waiting)).toBe(true);
    expect(claims.filter(({ synced, waiting }) => synced && waiting)).toEqual([]);
  });

  it("[CL9] records that wait for each other in a circle harm nobody and are never sent on", async () => {
    const relay = await openRelay((frame, answer) => {
      if (frame.type === "ackRequest") answer({ type: "ack", pairs: [] });
      if (frame.type !== "syncStep1") return;
      const circle = (client: number, other: number): Uint8Array =>
        Uint8Array.of(1, 1, client, 0, 0x83, other, 0, 1, 7, 0);
      answer({ type: "update", update: circle(8, 9) });
      answer({ type: "update", update: circle(9, 8) });
      answer({ type: "syncStep2", update: encodeUpdate([]) });
      answer({ type: "syncStep1", stateVector: new Map() });
    });
    const replica = await openReplica(relay);
    push(replica, 1);
    replica.connect();
    const sent = await relay.waitForFrame(({ type }) => type === "update");
    const parsed = sent.type === "update" ? parseUpdate(sent.update) : undefined;
    expect(parsed).toMatchObject({ ok: true, value: { structs: [{ client: replica.doc.clientID, clock: 0 }] } });
    expect(replica.status()).toMatchObject({ relay: { state: "catching-up" } });
  });

  it("[CL13] a cursor goes on being seen when somebody else writes under this replica's client id", async () => {
    const relay = await openRelay(answerWithoutAcks);
    const replica = await openReplica(relay);
    replica.connect();
    await until(replica, ({ relay }) => relay.state === "live");
    const usedId = replica.doc.clientID;
    const thief = new Y.Doc();
    thief.clientID = usedId;
    thief.getArray("entries").push([Uint8Array.of(9)]);
    relay.sockets[0]?.send(encodeFrame({ type: "update", update: Y.encodeStateAsUpdate(thief) }));
    await until(replica, () => replica.doc.clientID !== usedId);
    await until(replica, (status) => status.relay.state === "live" && relay.sockets.length === 2);
    replica.awareness.setLocalState({ v: 1, sealed: "after" });
    const isCursor = (frame: Frame, connection: number): boolean =>
      connection === 1 &&
      frame.type === "awareness" &&
      frame.states.some(({ client, state }) => client === replica.doc.clientID && state.includes("after"));
    await relay.waitForFrame(isCursor);
  });
});
