import { SessionError } from "@coppice/core";
import {
  type AckPair,
  digestStateVector,
  encodeUpdate,
  type Frame,
  parseUpdate,
  protocolVersion,
  type StateVector,
  type Struct,
} from "@coppice/wire";
import { sha256 } from "@noble/hashes/sha2.js";
import * as Y from "yjs";
import type { Coverage } from "./coverage.ts";
import { type ClockVector, isSameBytes, readHeldClocks } from "./held-records.ts";
import { type ExpectedCheck, judgeStructs } from "./relay-structs.ts";
import { planUpload } from "./upload-structs.ts";

/** Of acknowledgements whose checks say nothing of the records before the last one. */
const firstVersion = 1;

/** What a conversation is about. */
export interface ConversationSubject {
  readonly doc: Y.Doc;
  readonly coverage: Coverage;
  /** Durable records that the coverage does not cover. */
  readonly countPending: () => number;
  /** Records of this replica that are not durable yet. */
  readonly countUnsaved: () => number;
  /** First clock that is not durable here, by client id, whoever wrote it. Only durable records are sent. */
  readonly firstUnsavedClocks: () => ClockVector;
  readonly flushed: () => Promise<void>;
}

/** What a conversation does to the world. */
export interface ConversationEffects {
  send(frame: Frame): void;
  /** Of `total` records that the relay told of and we lacked, `arrived` have come; others may be waited for besides. */
  progress(arrived: number, total: number): void;
  /** The document holds all the relay told of. */
  caughtUp(): void;
  coverageChanged(): void;
  /** The relay has shown that it holds records of ours, news or not. */
  acknowledged(): void;
  /** The relay has other records than we do, by client id from these clocks on. Nothing more is said from here on. */
  contested(from: ClockVector): void;
  /** The document cannot be sent. */
  failed(error: unknown): void;
}

/**
 * What is said with the relay on one connection, and what of it is believed. Order matters: the relay's vector with its
 * checks, then a question for everything that is not known to be the same on both sides, then its answer, and only then
 * an upload. So a record that somebody else put at the place of one of ours is seen before ours is sent (SPEC CL41).
 */
export class RelayConversation {
  readonly #subject: ConversationSubject;
  readonly #effects: ConversationEffects;
  /** Until the first acknowledgement, which carries the relay's whole vector. */
  #expectsWholeVector = true;
  /** What the relay holds by its own word. */
  readonly #relayClocks = new Map<number, number>();
  #isCaughtUp = false;
  #hasContact = false;
  /** Records that the relay told of and we lack, when last counted, and those we lacked before and have now. */
  #missing = 0;
  #arrived = 0;
  /** What it said of client ids as far as that is not proven to be so here. */
  readonly #expectedChecks = new Map<number, ExpectedCheck>();
  /** As named in our request: a relay of an earlier version refuses it, and its checks are of something else. */
  #version = protocolVersion;
  #hasAsked = false;
  #hasAnswer = false;
  /** What the relay asked for before it had answered. */
  #owedUpload: StateVector | undefined;
  /** Records were left out because those before them have not been compared. */
  #isUnsure = false;
  /** Own records were not sent because the places before them have not been compared. */
  #hasHeldBack = false;
  #isOver = false;
  #knowsDigest = true;
  /** Times for the watch, see `LinkState`. */
  progressAt: number;
  resentAt: number;
  askedAt: number;
  digestAskedAt: number | undefined;
  /** Questions since something last arrived. */
  fruitlessQuestions = 0;

  constructor(subject: ConversationSubject, effects: ConversationEffects) {
    this.#subject = subject;
    this.#effects = effects;
    const now = performance.now();
    this.progressAt = now;
    this.resentAt = now;
    this.askedAt = now;
    this.#requestAcks();
    // With nothing to compare the question need not wait for the vector.
    if (subject.countPending() === 0) this.ask();
  }

  #requestAcks(): void {
    this.#effects.send({ type: "ackRequest", version: this.#version, clients: [] });
  }

  /** True while records are held back whose predecessors have not come, or are not known to be ours. */
  get isWaiting(): boolean {
    return this.#isUnsure || this.#subject.doc.store.pendingStructs !== null;
  }

  /** The relay has said what it holds, or sent something of it. */
  get hasContact(): boolean {
    return this.#hasContact;
  }

  /** Nothing more is said or believed. Safe to call twice. */
  end(): void {
    this.#isOver = true;
  }

  /** Sends an update of the local document as far as it is durable here and not covered. */
  sendUpdate(update: Uint8Array): void {
    // Before the first answer nobody knows whether the places are free; the upload that follows it holds this too.
    if (!this.#hasAnswer) return;
    this.#sendStructsOf(update, ({ client, clock }) => clock >= this.#subject.coverage.get(client));
  }

  /** Sends everything again that is not covered. */
  resend(): void {
    this.resentAt = performance.now();
    if (!this.#hasAsked) this.ask();
    else this.#upload(this.#subject.coverage.clocks());
  }

  /** Asks for all the relay has and we do not, and for what nobody has compared yet. */
  ask(): void {
    this.#hasAsked = true;
    this.askedAt = performance.now();
    this.fruitlessQuestions += 1;
    const stateVector = readHeldClocks(this.#subject.doc);
    for (const client of stateVector.keys()) {
      const covered = this.#subject.coverage.get(client);
      if (covered < (stateVector.get(client) ?? 0) && covered < (this.#relayClocks.get(client) ?? 0))
        stateVector.set(client, covered);
    }
    this.#effects.send({ type: "syncStep1", stateVector });
  }

  /** Compares both sides by 8 bytes where that can tell something, else by the vectors. */
  compare(): void {
    const { doc, countPending, countUnsaved } = this.#subject;
    // Equal digests say nothing of an answer that never came, and without one nothing is uploaded.
    const hasDoubt = !this.#hasAnswer || this.isWaiting;
    // Its word on what it holds was lost on the way.
    if (this.#expectsWholeVector) this.#requestAcks();
    if (!this.#knowsDigest || hasDoubt || countPending() > 0 || countUnsaved() > 0) {
      this.ask();
      return;
    }
    this.askedAt = performance.now();
    this.digestAskedAt = this.askedAt;
    this.#effects.send({ type: "digest", digest: digestStateVector(readHeldClocks(doc), sha256) });
  }

  /** The relay's digest: a difference is looked into, unless it is what we are about to send. */
  takeDigest(digest: Uint8Array): void {
    const { doc, countPending, countUnsaved } = this.#subject;
    this.digestAskedAt = undefined;
    if (this.#isOver || countPending() > 0 || countUnsaved() > 0) return;
    if (!isSameBytes(digest, digestStateVector(readHeldClocks(doc), sha256))) this.ask();
    else if (!this.#isCaughtUp && this.#hasAnswer && !this.isWaiting) this.#tellCaughtUp();
  }

  /**
   * The relay refused a frame and stays: an earlier version does not know this one's acknowledgements, or digests. Returns
   * whether that explains it.
   */
  takeRefusal(): boolean {
    if (this.#expectsWholeVector && this.#version > firstVersion) {
      this.#version = firstVersion;
      this.#requestAcks();
      return true;
    }
    if (this.digestAskedAt === undefined) return false;
    this.digestAskedAt = undefined;
    this.#knowsDigest = false;
    this.ask();
    return true;
  }

  /** The relay asks for what it lacks. */
  takeSyncStep1(known: StateVector): void {
    for (const [client, clock] of known) this.#relayClocks.set(client, clock);
    this.#tellProgress();
    if (this.#subject.coverage.lowerTo(known)) this.#effects.coverageChanged();
    if (!this.#hasAsked) this.ask();
    if (this.#hasAnswer) this.#answer(known);
    else this.#owedUpload = known;
  }

  /** Records from the relay. Throws when they do not follow the grammar. */
  takeUpdate(update: Uint8Array, isStep2: boolean): void {
    const { doc, coverage } = this.#subject;
    const parsed = parseUpdate(update);
    if (!parsed.ok) throw new SessionError("unknown", parsed.error);
    if (this.#isOver) return;
    const { structs } = parsed.value;
    const { fitting, isUnsure, isNews, contested, disproved } = judgeStructs(
      structs,
      doc,
      coverage,
      this.#expectedChecks,
    );
    if (contested.size > 0) {
      this.end();
      this.#effects.contested(contested);
      return;
    }
    const wasWaiting = this.isWaiting;
    if (fitting.length === structs.length) Y.applyUpdate(doc, update, this);
    else if (fitting.length > 0) Y.applyUpdate(doc, encodeUpdate(fitting), this);
    if (isNews || fitting.some(({ client, clock }) => clock < Y.getState(doc.store, client)))
      this.fruitlessQuestions = 0;
    for (const client of disproved) {
      // Once: after that the records are compared, and they say more than any check.
      this.#expectedChecks.delete(client);
      this.#noteRelayClock(client, Y.getState(doc.store, client));
    }
    if (isStep2) this.#hasAnswer = true;
    if (isStep2 || isUnsure) this.#isUnsure = isUnsure;
    // The question goes by what the relay has, which these records show before it says so.
    if (isUnsure)
      for (const struct of structs)
        for (const id of [struct, struct.origin]) if (id !== null) this.#noteRelayClock(id.client, id.clock + 1);
    if (this.isWaiting) {
      // Something before these records is missing or not compared: the relay's whole answer settles it.
      if (!wasWaiting || this.fruitlessQuestions === 0) this.ask();
      this.#isCaughtUp = false;
    } else if (isStep2) this.#tellCaughtUp();
    // What others waited for came from its author, to a relay that had lost it: no answer follows.
    else if (this.#hasAnswer && !this.#isCaughtUp && this.#countMissing() === 0) this.#tellCaughtUp();
    this.#tellProgress();
    this.#effects.coverageChanged();
    if (isNews) this.#sendHeldBack();
    if (this.#hasAnswer && this.#owedUpload !== undefined) {
      const known = this.#owedUpload;
      this.#owedUpload = undefined;
      this.#answer(known);
    }
  }

  /** How far the relay holds records, with a check of the last one of each client id. */
  takeAck(pairs: readonly AckPair[]): void {
    if (this.#isOver) return;
    const { coverage, doc } = this.#subject;
    const isWhole = this.#expectsWholeVector;
    this.#expectsWholeVector = false;
    for (const { client, clock } of pairs) this.#relayClocks.set(client, clock);
    this.#tellProgress();
    // A relay that lost records may have got others since: only what is checked now counts from here on.
    const isTrusted = !(isWhole && coverage.lowerTo(this.#relayClocks));
    let isDoubtful = false;
    let isNews = false;
    let isShown = false;
    for (const { client, clock, check: given } of pairs) {
      const check = this.#version === protocolVersion ? given : null;
      // Whatever it is not known to be the check of yet: it is looked at again when so many records are covered.
      if (check === null) this.#expectedChecks.delete(client);
      else this.#expectedChecks.set(client, { clock, check });
      if (clock > Y.getState(doc.store, client)) {
        // The relay has more of it than we do. Of an id that only this replica uses, that is not ours.
        if (isTrusted && client !== doc.clientID) continue;
        coverage.lower(client, 0);
        isDoubtful = true;
      } else if (clock === 0 || (clock < coverage.get(client) && !isWhole)) {
        // Nothing to compare, or said before what we have heard since.
      } else if (check !== null && coverage.isProof(doc, client, clock, check)) {
        this.#expectedChecks.delete(client);
        isShown = true;
        // An answer that says nothing new is a sign of life, not of our records being taken.
        if (!coverage.raise(client, clock, check)) continue;
        this.progressAt = performance.now();
        isNews = true;
      } else if (check !== null || !isTrusted || clock > coverage.get(client)) {
        // Which records differ, or whether any do, shows when the relay is asked for them.
        if (clock <= coverage.get(client)) {
          coverage.lower(client, 0);
          this.#expectedChecks.delete(client);
        }
        isDoubtful = true;
      }
    }
    if (!this.#hasAsked || (isDoubtful && (isWhole || this.fruitlessQuestions === 0))) this.ask();
    if (isNews) this.#sendHeldBack();
    this.#effects.coverageChanged();
    if (isShown) this.#effects.acknowledged();
  }

  #tellCaughtUp(): void {
    this.#isCaughtUp = true;
    this.#hasContact = true;
    this.#missing = 0;
    this.#arrived = 0;
    this.#effects.caughtUp();
  }

  /** While not everything is here: how far that is. */
  #tellProgress(): void {
    if (this.#isCaughtUp || this.#isOver) return;
    this.#hasContact = true;
    const missing = this.#countMissing();
    // What the relay gets meanwhile is missing too, and takes nothing from what has come.
    this.#arrived += Math.max(0, this.#missing - missing);
    this.#missing = missing;
    this.#effects.progress(this.#arrived, this.#arrived + missing);
  }

  /** Records that the relay told of and we lack. */
  #countMissing(): number {
    let missing = 0;
    for (const [client, clock] of this.#relayClocks)
      missing += Math.max(0, clock - Y.getState(this.#subject.doc.store, client));
    return missing;
  }

  #noteRelayClock(client: number, clock: number): void {
    if (clock > (this.#relayClocks.get(client) ?? 0)) this.#relayClocks.set(client, clock);
  }

  #answer(known: StateVector): void {
    this.#upload(known, () => this.#effects.send({ type: "syncStep2", update: encodeUpdate([]) }));
  }

  /** Sends everything durable here that `known` lacks, parents first, in chunks; then calls `afterwards`. */
  #upload(known: StateVector, afterwards: () => void = () => undefined): void {
    const { doc, flushed } = this.#subject;
    flushed()
      // The queue reports its own failure as a status; what is durable already can still be sent.
      .catch(() => undefined)
      .then(() => {
        if (this.#isOver) return;
        this.#sendStructsOf(Y.encodeStateAsUpdate(doc, Y.encodeStateVector(new Map(known))), () => true);
        afterwards();
      })
      .catch((error: unknown) => this.#effects.failed(error));
  }

  #sendStructsOf(update: Uint8Array, isWanted: (struct: Struct) => boolean): void {
    const { doc, firstUnsavedClocks } = this.#subject;
    const { chunks, isHeldBack } = planUpload(update, {
      doc,
      unsaved: firstUnsavedClocks(),
      isWanted,
      doubtfulFrom: (client) => this.#doubtfulFrom(client),
    });
    if (isHeldBack) this.#hasHeldBack = true;
    for (const chunk of chunks) this.#effects.send({ type: "update", update: chunk });
  }

  /** First clock of a client id at which the relay has a record that nobody has compared with ours. */
  #doubtfulFrom(client: number): number {
    const covered = this.#subject.coverage.get(client);
    const isCompared =
      covered >= Math.min(Y.getState(this.#subject.doc.store, client), this.#relayClocks.get(client) ?? 0);
    return isCompared ? Number.POSITIVE_INFINITY : covered;
  }

  /** What was held back may go once the comparison has come out well. */
  #sendHeldBack(): void {
    if (!this.#hasHeldBack || !this.#hasAnswer) return;
    this.#hasHeldBack = false;
    this.#upload(this.#subject.coverage.clocks());
  }
}
