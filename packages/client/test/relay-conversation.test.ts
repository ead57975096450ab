import { digestStateVector, encodeUpdate, type Frame, protocolVersion } from "@coppice/wire";
import { sha256 } from "@noble/hashes/sha2.js";
import { describe, expect, it } from "vitest";
import * as Y from "yjs";
import { Coverage } from "../src/coverage.ts";
import { type ClockVector, readHeldClocks } from "../src/held-records.ts";
import { RelayConversation } from "../src/relay-conversation.ts";
import { pairOf } from "./ack-pairs.ts";

function makeDoc(client: number, ...bytes: number[]): Y.Doc {
  const doc = new Y.Doc();
  doc.clientID = client;
  for (const byte of bytes) doc.getArray("entries").push([Uint8Array.of(byte)]);
  return doc;
}

function talk(doc: Y.Doc, covered: ClockVector = new Map()) {
  const coverage = new Coverage(covered);
  const sent: Frame[] = [];
  const contested: ClockVector[] = [];
  const claims: boolean[] = [];
  const conversation = new RelayConversation(
    {
      doc,
      coverage,
      countPending: () => coverage.countPending(readHeldClocks(doc)),
      countUnsaved: () => 0,
      firstUnsavedClocks: () => new Map(),
      flushed: () => Promise.resolve(),
    },
    {
      send: (frame) => sent.push(frame),
      progress: () => claims.push(false),
      caughtUp: () => claims.push(true),
      acknowledged: () => undefined,
      coverageChanged: () => undefined,
      contested: (from) => contested.push(from),
      failed: (error) => {
        throw error;
      },
    },
  );
  const questions = () => sent.flatMap((frame) => (frame.type === "syncStep1" ? [frame.stateVector] : []));
  const pending = () => coverage.countPending(readHeldClocks(doc));
  return { conversation, sent, contested, claims, questions, pending };
}

const updateOf = (doc: Y.Doc, since?: ClockVector): Uint8Array =>
  Y.encodeStateAsUpdate(doc, since && Y.encodeStateVector(new Map(since)));

describe("RelayConversation", () => {
  it("[CL40] an acknowledgement covers what its check proves to be ours", () => {
    const doc = makeDoc(7, 1, 2, 3);
    const { conversation, pending } = talk(doc);
    conversation.takeAck([pairOf(doc, 7, 2)]);
    expect(pending()).toBe(1);
    conversation.takeAck([pairOf(doc, 7, 3)]);
    expect(pending()).toBe(0);
  });

  it("[CL40] one whose check is of another record covers nothing, and what covered it before no longer counts", () => {
    const doc = makeDoc(7, 1, 2, 3);
    const thief = makeDoc(7, 1, 9, 9);
    const fresh = talk(doc);
    fresh.conversation.takeAck([pairOf(thief, 7, 2)]);
    expect(fresh.pending()).toBe(3);
    expect(fresh.questions()).toEqual([new Map([[7, 0]])]);
    const sure = talk(doc, new Map([[7, 3]]));
    sure.conversation.takeAck([pairOf(thief, 7, 3)]);
    expect(sure.pending()).toBe(3);
    expect(sure.questions().at(-1)).toEqual(new Map([[7, 0]]));
  });

  it("[CL40] of an id the relay has more of than we do nothing is covered that was not; it is asked for again", () => {
    const doc = makeDoc(7, 1, 2, 3);
    const { conversation, pending, questions } = talk(doc, new Map([[7, 1]]));
    conversation.takeAck([pairOf(makeDoc(7, 1, 2, 3, 4), 7, 4)]);
    expect(pending()).toBe(3);
    expect(questions()).toEqual([new Map([[7, 0]])]);
  });

  it("[CL40] a relay that lost records and got others meanwhile is believed only what it proves", () => {
    const doc = makeDoc(7, 1, 2);
    Y.applyUpdate(doc, updateOf(makeDoc(8, 5)));
    doc.clientID = 9;
    const covered = new Map([
      [7, 2],
      [8, 1],
    ]);
    const { conversation, pending, questions } = talk(doc, covered);
    expect(questions()).toEqual([covered]);
    conversation.takeAck([pairOf(makeDoc(7, 4, 4, 4), 7, 3)]);
    expect(pending()).toBe(3);
    expect(questions().at(-1)?.get(7)).toBe(0);
  });

  it("[CL40] another's record before our last one shows, though the relay's last one is ours", () => {
    const doc = makeDoc(7, 1, 2, 3);
    const relay = makeDoc(7, 1, 9, 3);
    const { conversation, pending, questions, contested } = talk(doc, new Map([[7, 1]]));
    conversation.takeAck([pairOf(relay, 7, 3)]);
    expect(pending()).toBe(2);
    expect(questions()).toEqual([new Map([[7, 1]])]);
    conversation.takeUpdate(updateOf(relay, new Map([[7, 1]])), true);
    expect(contested).toEqual([new Map([[7, 1]])]);
  });

  it("[CL40] the same record behind another one is told from ours by the check as well", () => {
    const ours = makeDoc(5, 6);
    ours.clientID = 7;
    ours.getArray("entries").push([Uint8Array.of(1)]);
    const { conversation, pending } = talk(ours, new Map([[5, 1]]));
    conversation.takeAck([pairOf(ours, 5, 1), pairOf(makeDoc(7, 1), 7, 1)]);
    expect(pending()).toBe(1);
  });

  it("[CL40] what covered records of an id turn out to be is found when the relay's further ones come", () => {
    const doc = makeDoc(7, 1, 2, 3);
    doc.clientID = 9;
    const relay = makeDoc(7, 1, 9, 3, 4);
    const { conversation, pending, questions, contested } = talk(doc, new Map([[7, 3]]));
    conversation.takeAck([pairOf(relay, 7, 4)]);
    expect(pending()).toBe(0);
    conversation.takeUpdate(updateOf(relay, new Map([[7, 3]])), true);
    expect(pending()).toBe(4);
    expect(questions().at(-1)).toEqual(new Map([[7, 0]]));
    conversation.takeUpdate(updateOf(relay), true);
    expect(contested).toEqual([new Map([[7, 1]])]);
  });

  it("[CL40] a relay whose checks are wrong is asked once; the records themselves decide", () => {
    const doc = makeDoc(7, 1, 2);
    doc.clientID = 9;
    const relay = makeDoc(7, 1, 2, 3);
    const { conversation, pending, questions, claims } = talk(doc, new Map([[7, 2]]));
    conversation.takeAck([{ client: 7, clock: 3, check: new Uint8Array(8).fill(1) }]);
    conversation.takeUpdate(updateOf(relay, new Map([[7, 2]])), true);
    expect(questions()).toEqual([new Map([[7, 2]]), new Map([[7, 0]])]);
    conversation.takeUpdate(updateOf(relay), true);
    expect(pending()).toBe(0);
    expect(questions()).toHaveLength(2);
    expect(claims.at(-1)).toBe(true);
  });

  it("[CL70] a relay of an earlier version, whose checks prove less, is asked for the records instead", () => {
    const doc = makeDoc(7, 1, 2, 3);
    const { conversation, pending, sent, questions } = talk(doc);
    expect(conversation.takeRefusal()).toBe(true);
    const versions = sent.flatMap((frame) => (frame.type === "ackRequest" ? [frame.version] : []));
    expect(versions).toEqual([protocolVersion, 1]);
    expect(conversation.takeRefusal()).toBe(false);
    conversation.takeAck([pairOf(doc, 7, 2)]);
    expect(pending()).toBe(3);
    expect(questions()).toEqual([new Map([[7, 0]])]);
    conversation.takeUpdate(updateOf(makeDoc(7, 1, 2)), true);
    expect(pending()).toBe(1);
  });

  it("[CL41] nothing is uploaded before the relay has answered the first question", async () => {
    const doc = makeDoc(7, 1, 2);
    const { conversation, sent } = talk(doc);
    conversation.takeAck([]);
    conversation.takeSyncStep1(new Map());
    conversation.sendUpdate(updateOf(doc));
    await Promise.resolve();
    expect(sent.map(({ type }) => type)).toEqual(["ackRequest", "syncStep1"]);
    conversation.takeUpdate(encodeUpdate([]), true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.map(({ type }) => type)).toEqual(["ackRequest", "syncStep1", "update", "syncStep2"]);
  });

  it.each([
    ["fewer", [9]],
    ["as many", [9, 9, 9]],
    ["more", [9, 9, 9, 9, 9]],
  ])("[CL41] %s records of somebody else under our id are found before any of them is believed", (_what, bytes) => {
    const doc = makeDoc(7, 1, 2, 3);
    const { conversation, contested, sent } = talk(doc);
    const thief = makeDoc(7, ...bytes);
    conversation.takeAck([pairOf(thief, 7, bytes.length)]);
    conversation.takeUpdate(updateOf(thief), true);
    expect(contested).toEqual([new Map([[7, 0]])]);
    expect(doc.getArray("entries").length).toBe(3);
    conversation.takeSyncStep1(new Map([[7, bytes.length]]));
    expect(sent.filter(({ type }) => type === "update")).toEqual([]);
  });

  it("[CL41] nothing is sent behind places that nobody has compared, whoever asks and whatever was answered before", async () => {
    const doc = makeDoc(7, 1, 2, 3);
    doc.clientID = 9;
    doc.getArray("entries").push([Uint8Array.of(4)]);
    const { conversation, contested, sent } = talk(
      doc,
      new Map([
        [7, 3],
        [9, 1],
      ]),
    );
    const thief = makeDoc(7, 5, 5);
    conversation.takeAck([pairOf(thief, 7, 2)]);
    // The answer to the question that went out at once, before anything was in doubt.
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.takeSyncStep1(new Map([[7, 2]]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.filter(({ type }) => type === "update")).toEqual([]);
    conversation.takeUpdate(updateOf(thief), true);
    expect(contested).toEqual([new Map([[7, 0]])]);
  });

  it("[CL41] what was held back is sent once the comparison has come out well", async () => {
    const doc = makeDoc(7, 1, 2, 3);
    const { conversation, sent } = talk(doc, new Map([[7, 3]]));
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.takeAck([{ client: 7, clock: 2, check: new Uint8Array(8).fill(1) }]);
    conversation.takeSyncStep1(new Map([[7, 2]]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.filter(({ type }) => type === "update")).toEqual([]);
    conversation.takeUpdate(updateOf(makeDoc(7, 1, 2)), true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.filter(({ type }) => type === "update")).toHaveLength(1);
  });

  it("[CL41] the same record behind another one is another record", () => {
    const doc = makeDoc(7, 1);
    Y.applyUpdate(doc, updateOf(makeDoc(5, 8)));
    const other = new Y.Doc();
    Y.applyUpdate(other, updateOf(makeDoc(5, 8)));
    other.clientID = 7;
    other.getArray("entries").push([Uint8Array.of(1)]);
    const { conversation, contested } = talk(doc);
    conversation.takeUpdate(updateOf(other), true);
    expect(contested).toEqual([new Map([[7, 0]])]);
  });

  it("[CL41] records behind some that nobody has compared wait until the relay's own ones have come", () => {
    const doc = makeDoc(7, 1, 2, 3);
    doc.clientID = 9;
    const author = makeDoc(7, 1, 2, 3, 4);
    const { conversation, claims, questions, pending } = talk(doc);
    conversation.takeUpdate(updateOf(author, new Map([[7, 3]])), false);
    expect(doc.getArray("entries").length).toBe(3);
    expect(claims).toEqual([false]);
    expect(questions().at(-1)).toEqual(new Map([[7, 0]]));
    conversation.takeUpdate(updateOf(author), true);
    expect(doc.getArray("entries").length).toBe(4);
    expect(pending()).toBe(0);
    expect(claims.at(-1)).toBe(true);
  });

  it("[CL41] records of another id that stand on such a place wait as well, and so do those that stand on them", () => {
    const doc = makeDoc(7, 1, 2);
    doc.clientID = 9;
    const owner = makeDoc(7, 1, 5);
    const thief = makeDoc(7, 1, 2);
    for (const author of [owner, thief]) {
      author.clientID = 8;
      for (const byte of [6, 7]) author.getArray("entries").push([Uint8Array.of(byte)]);
    }
    for (const [author, isOurs] of [
      [owner, false],
      [thief, true],
    ] as const) {
      const { conversation, contested, claims, questions } = talk(doc, new Map([[7, 1]]));
      conversation.takeUpdate(updateOf(author, new Map([[7, 2]])), false);
      expect(doc.getArray("entries").length).toBe(2);
      expect(doc.store.pendingStructs).toBeNull();
      expect(claims).toEqual([false]);
      expect(questions().at(-1)).toEqual(new Map([[7, 1]]));
      conversation.takeUpdate(updateOf(author, new Map([[7, 1]])), true);
      expect(contested).toEqual(isOurs ? [] : [new Map([[7, 1]])]);
      expect(doc.getArray("entries").length).toBe(isOurs ? 4 : 2);
    }
  });

  it("[CL43] equal digests end a comparison, different ones lead to a question", () => {
    const doc = makeDoc(7, 1);
    const { conversation, sent, questions } = talk(doc, new Map([[7, 1]]));
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.compare();
    expect(sent.at(-1)?.type).toBe("digest");
    const before = questions().length;
    conversation.takeDigest(digestStateVector(new Map([[7, 1]]), sha256));
    expect(questions().length).toBe(before);
    conversation.compare();
    conversation.takeDigest(digestStateVector(new Map([[7, 2]]), sha256));
    expect(questions().length).toBe(before + 1);
    expect(conversation.digestAskedAt).toBeUndefined();
  });

  it("[CL43] a question whose answer never came is asked again, however equal both sides are", () => {
    const { conversation, sent, questions, claims } = talk(makeDoc(7, 1), new Map([[7, 1]]));
    expect(questions()).toHaveLength(1);
    conversation.compare();
    expect(questions()).toHaveLength(2);
    conversation.takeUpdate(encodeUpdate([]), true);
    expect(claims).toEqual([true]);
    conversation.compare();
    expect(sent.at(-1)?.type).toBe("digest");
  });

  it("[CL7] records that waited and whose predecessors another device brings are no reason to catch up any more", () => {
    const author = makeDoc(8, 1, 2);
    const { conversation, claims } = talk(makeDoc(7));
    conversation.takeUpdate(updateOf(author, new Map([[8, 1]])), false);
    // The relay has lost what goes before.
    conversation.takeUpdate(encodeUpdate([]), true);
    expect(claims.at(-1)).toBe(false);
    conversation.takeUpdate(updateOf(author), false);
    expect(conversation.isWaiting).toBe(false);
    expect(claims.at(-1)).toBe(true);
  });

  it("[CL7] while an answer is still coming, nothing is claimed though nothing waits", () => {
    const author = makeDoc(8, 1, 2, 3);
    const { conversation, claims } = talk(makeDoc(7));
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.takeUpdate(updateOf(author, new Map([[8, 1]])), false);
    const other = makeDoc(9, 4);
    conversation.takeAck([pairOf(author, 8, 3), pairOf(other, 9, 1)]);
    conversation.takeUpdate(updateOf(author), false);
    expect(conversation.isWaiting).toBe(false);
    expect(claims.at(-1)).toBe(false);
    conversation.takeUpdate(updateOf(other), true);
    expect(claims.at(-1)).toBe(true);
  });

  it("[CL43] equal digests show that everything is here, whatever the relay had said before", () => {
    const author = makeDoc(8, 1, 2);
    const { conversation, sent, claims } = talk(makeDoc(7));
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.takeUpdate(updateOf(author, new Map([[8, 1]])), false);
    conversation.takeAck([pairOf(makeDoc(8, 1, 2, 3), 8, 3)]);
    conversation.takeUpdate(updateOf(author), false);
    expect(claims.at(-1)).toBe(false);
    conversation.compare();
    expect(sent.at(-1)?.type).toBe("digest");
    conversation.takeDigest(digestStateVector(new Map([[8, 2]]), sha256));
    expect(claims.at(-1)).toBe(true);
  });

  it("[CL43] a relay that does not know digests is asked by the vector from then on", () => {
    const { conversation, questions, sent } = talk(makeDoc(7));
    conversation.takeAck([]);
    conversation.takeUpdate(encodeUpdate([]), true);
    conversation.compare();
    expect(conversation.takeRefusal()).toBe(true);
    conversation.compare();
    expect(questions()).toHaveLength(3);
    expect(sent.filter(({ type }) => type === "digest")).toHaveLength(1);
    expect(conversation.takeRefusal()).toBe(false);
  });

  it("[CL43] what is missing is asked for once until something has come", () => {
    const author = makeDoc(8, 1, 2, 3, 4);
    const { conversation, questions } = talk(makeDoc(7));
    conversation.takeUpdate(encodeUpdate([]), true);
    const part = (from: number): Uint8Array => updateOf(author, new Map([[8, from]]));
    for (const from of [3, 2, 1]) conversation.takeUpdate(part(from), false);
    expect(questions()).toHaveLength(2);
    expect(conversation.isWaiting).toBe(true);
    conversation.takeUpdate(part(0), true);
    expect(conversation.isWaiting).toBe(false);
    expect(conversation.fruitlessQuestions).toBe(0);
  });
});
