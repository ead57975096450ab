import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { EntryNode } from "./entry-node.ts";
import type { RecordPlace, RecordProblem } from "./record-codec.ts";
import { fingerprintRecord } from "./record-fingerprint.ts";
import type { LogRecord } from "./record-log.ts";
import { decodeText, encodeText } from "./text-codec.ts";

/*
 * An index snapshot says of every record, in log order, where it stands and what opening its header gave, in columns:
 * reading one takes a tenth of opening the headers. It is derived and never sent, so its layout may change with any
 * version; `INDEX_SNAPSHOT_VERSION` must then change too. What is cheap to find out, or may change with the version of
 * Coppice that looks (session headers, other keys, newer formats), is not in it: such records are opened anew.
 */

/** Of the layout below. Another version's snapshot does not open. */
export const INDEX_SNAPSHOT_VERSION = 2;

/** A record of the log that is no entry. */
export interface OtherRecord {
  readonly record: LogRecord;
  /** Why its header does not open; undefined: it is to be opened anew, by whoever loads the snapshot. */
  readonly problem: RecordProblem | undefined;
}

/** What a record is to the index. */
export type IndexedRecord = EntryNode | OtherRecord;

/** Problems that cost time to find and depend on nothing but the record and the key. */
const keptProblems: readonly RecordProblem[] = ["not_authentic", "malformed"];

const KIND_ENTRY = 0;
const KIND_OPEN_ANEW = 1;
const FIRST_PROBLEM_KIND = 2;

const FIELD_TARGET = 1;
const FIELD_TARGET_NULL = 2;
const FIELD_LABEL = 4;
const FIELD_NAME = 8;
const FIELD_ROLE = 16;

/** How a parent is written: as null, as its text, or (this and above) as the distance to its entry, counted back. */
const PARENT_NULL = 0;
const PARENT_TEXT = 1;
const PARENT_BACK = 2;

const FINGERPRINT_BYTES = 8;

/** Writes a snapshot, record by record in log order. */
export class IndexSnapshotWriter {
  #recordCount = 0;
  readonly #places = encoding.createEncoder();
  #placeRun: { clientId: number; clock: number; count: number } | undefined;
  readonly #kinds = encoding.createEncoder();
  #kindRun: { kind: number; count: number } | undefined;
  readonly #fingerprints = encoding.createEncoder();
  readonly #entries = encoding.createEncoder();
  /** Ids and timestamps: nearly always plain ASCII, so that reading them back takes one byte a character. */
  #texts: string[] = [];
  #rareTexts: string[] = [];
  readonly #words = new Map<string, number>();
  readonly #entryIndexById = new Map<string, number>();
  #entryCount = 0;

  add(indexed: IndexedRecord): void {
    const { record } = indexed;
    this.#recordCount++;
    this.#addPlace(record);
    encoding.writeFloat64(this.#fingerprints, fingerprintRecord(record.bytes));
    if (indexed instanceof EntryNode) {
      this.#addKind(KIND_ENTRY);
      this.#addEntry(indexed);
    } else {
      const kept = indexed.problem === undefined ? -1 : keptProblems.indexOf(indexed.problem);
      this.#addKind(kept === -1 ? KIND_OPEN_ANEW : FIRST_PROBLEM_KIND + kept);
    }
  }

  /** The snapshot; nothing may be added after it. */
  finish(): Uint8Array {
    this.#endPlaceRun();
    this.#endKindRun();
    return encoding.encode((encoder) => {
      encoding.writeVarUint(encoder, this.#recordCount);
      for (const column of [this.#places, this.#kinds, this.#fingerprints, this.#entries]) {
        encoding.writeVarUint8Array(encoder, encoding.toUint8Array(column));
      }
      encoding.writeVarUint(encoder, this.#words.size);
      for (const word of this.#words.keys()) encoding.writeVarUint8Array(encoder, encodeText(word));
      for (const texts of [this.#texts, this.#rareTexts]) {
        encoding.writeVarUint8Array(encoder, encodeText(texts.join("")));
      }
    });
  }

  #addPlace({ clientId, clock }: RecordPlace): void {
    const run = this.#placeRun;
    if (run !== undefined && run.clientId === clientId && run.clock + run.count === clock) {
      run.count++;
      return;
    }
    this.#endPlaceRun();
    this.#placeRun = { clientId, clock, count: 1 };
  }

  #endPlaceRun(): void {
    if (this.#placeRun === undefined) return;
    const { clientId, clock, count } = this.#placeRun;
    for (const value of [clientId, clock, count]) encoding.writeVarUint(this.#places, value);
  }

  #addKind(kind: number): void {
    if (this.#kindRun?.kind === kind) {
      this.#kindRun.count++;
      return;
    }
    this.#endKindRun();
    this.#kindRun = { kind, count: 1 };
  }

  #endKindRun(): void {
    if (this.#kindRun === undefined) return;
    for (const value of [this.#kindRun.kind, this.#kindRun.count]) encoding.writeVarUint(this.#kinds, value);
  }

  #addEntry(node: EntryNode): void {
    const encoder = this.#entries;
    this.#addText(node.id, this.#texts);
    this.#addParent(node.parentId);
    encoding.writeVarUint(encoder, this.#wordIndex(node.type));
    this.#addText(node.timestamp, this.#texts);
    encoding.writeVarUint(encoder, this.#wordIndex(node.deviceId));
    for (const value of [node.rank, node.jsonBytes, node.storedBytes]) encoding.writeVarUint(encoder, value);
    const { role, targetId, label, name } = node;
    encoding.writeUint8(
      encoder,
      (typeof targetId === "string" ? FIELD_TARGET : targetId === null ? FIELD_TARGET_NULL : 0) |
        (label === undefined ? 0 : FIELD_LABEL) |
        (name === undefined ? 0 : FIELD_NAME) |
        (role === undefined ? 0 : FIELD_ROLE),
    );
    if (role !== undefined) encoding.writeVarUint(encoder, this.#wordIndex(role));
    for (const text of [targetId, label, name]) if (typeof text === "string") this.#addText(text, this.#rareTexts);
    this.#entryIndexById.set(node.id, this.#entryCount++);
  }

  #addParent(parentId: string | null): void {
    if (parentId === null) {
      encoding.writeVarUint(this.#entries, PARENT_NULL);
      return;
    }
    const parentIndex = this.#entryIndexById.get(parentId);
    if (parentIndex !== undefined) {
      encoding.writeVarUint(this.#entries, PARENT_BACK + this.#entryCount - parentIndex);
      return;
    }
    encoding.writeVarUint(this.#entries, PARENT_TEXT);
    this.#addText(parentId, this.#rareTexts);
  }

  /** Texts stand in one blob per kind; lengths, in UTF-16 code units, where the text belongs. */
  #addText(text: string, texts: string[]): void {
    encoding.writeVarUint(this.#entries, text.length);
    texts.push(text);
  }

  /** Texts that many entries share are written once. */
  #wordIndex(word: string): number {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    this.#words.set(word, this.#words.size);
    return this.#words.size - 1;
  }
}

/**
 * Gives back what a snapshot says, record by record in log order. Every method and the constructor throw when the
 * bytes are no snapshot of this version.
 */
export class IndexSnapshotReader {
  /** Records the snapshot speaks of. */
  readonly recordCount: number;
  readonly #places: decoding.Decoder;
  readonly #kinds: decoding.Decoder;
  readonly #fingerprints: DataView;
  readonly #entries: decoding.Decoder;
  readonly #words: string[] = [];
  readonly #texts: TextBlob;
  readonly #rareTexts: TextBlob;
  readonly #entryIds: string[] = [];
  #position = 0;
  #clientId = 0;
  #clock = 0;
  #placesLeft = 0;
  #kind = KIND_OPEN_ANEW;
  #kindsLeft = 0;

  constructor(snapshot: Uint8Array) {
    const decoder = decoding.createDecoder(snapshot);
    this.recordCount = decoding.readVarUint(decoder);
    const readColumn = (): Uint8Array => decoding.readVarUint8Array(decoder);
    this.#places = decoding.createDecoder(readColumn());
    this.#kinds = decoding.createDecoder(readColumn());
    const fingerprints = readColumn();
    this.#fingerprints = new DataView(fingerprints.buffer, fingerprints.byteOffset, fingerprints.length);
    this.#entries = decoding.createDecoder(readColumn());
    for (let left = decoding.readVarUint(decoder); left > 0; left--) this.#words.push(toText(readColumn()));
    this.#texts = new TextBlob(toText(readColumn()));
    this.#rareTexts = new TextBlob(toText(readColumn()));
    this.#nextPlace();
  }

  /**
   * What the snapshot says of the next record of the log; undefined when it says nothing, so that the record must be
   * opened: it is new, another one than the snapshot knows at this place, or of those that are always opened anew.
   */
  take(record: LogRecord): EntryNode | RecordProblem | undefined {
    if (this.#placesLeft === 0 || record.clientId !== this.#clientId || record.clock !== this.#clock) return undefined;
    if (this.#kindsLeft === 0) {
      this.#kind = decoding.readVarUint(this.#kinds);
      this.#kindsLeft = decoding.readVarUint(this.#kinds);
    }
    this.#kindsLeft--;
    const fingerprint = this.#fingerprints.getFloat64(this.#position * FINGERPRINT_BYTES);
    this.#position++;
    this.#clock++;
    if (--this.#placesLeft === 0) this.#nextPlace();
    // Read even if it turns out not to be of this record: the columns go on behind it.
    const outcome = this.#kind === KIND_ENTRY ? this.#readEntry(record) : keptProblems[this.#kind - FIRST_PROBLEM_KIND];
    return outcome !== undefined && fingerprint === fingerprintRecord(record.bytes) ? outcome : undefined;
  }

  #nextPlace(): void {
    if (!decoding.hasContent(this.#places)) return;
    this.#clientId = decoding.readVarUint(this.#places);
    this.#clock = decoding.readVarUint(this.#places);
    this.#placesLeft = decoding.readVarUint(this.#places);
  }

  #readEntry(record: LogRecord): EntryNode {
    const decoder = this.#entries;
    const id = this.#texts.take(this.#readNumber());
    const parentId = this.#readParent();
    this.#entryIds.push(id);
    const type = this.#word(this.#readNumber());
    const timestamp = this.#texts.take(this.#readNumber());
    const deviceId = this.#word(this.#readNumber());
    const rank = this.#readNumber();
    const jsonBytes = this.#readNumber();
    const storedBytes = this.#readNumber();
    const fields = decoding.readUint8(decoder);
    const role = (fields & FIELD_ROLE) === 0 ? undefined : this.#word(this.#readNumber());
    const readRare = (field: number): string | undefined =>
      (fields & field) === 0 ? undefined : this.#rareTexts.take(this.#readNumber());
    const targetId = (fields & FIELD_TARGET_NULL) === 0 ? readRare(FIELD_TARGET) : null;
    const label = readRare(FIELD_LABEL);
    const name = readRare(FIELD_NAME);
    return new EntryNode(
      { id, parentId, type, timestamp, deviceId, rank, jsonBytes, storedBytes, role, targetId, label, name },
      record,
    );
  }

  #readParent(): string | null {
    const written = this.#readNumber();
    if (written === PARENT_NULL) return null;
    if (written === PARENT_TEXT) return this.#rareTexts.take(this.#readNumber());
    const id = this.#entryIds[this.#entryIds.length - (written - PARENT_BACK)];
    if (id === undefined) throw new Error("a parent of the index snapshot is not in it");
    return id;
  }

  /** Most numbers take one byte, and each entry has eight of them or more. */
  #readNumber(): number {
    const decoder = this.#entries;
    const byte = decoder.arr[decoder.pos];
    if (byte === undefined || byte >= 0x80) return decoding.readVarUint(decoder);
    decoder.pos++;
    return byte;
  }

  #word(index: number): string {
    const word = this.#words[index];
    if (word === undefined) throw new Error("a word of the index snapshot is not in it");
    return word;
  }
}

/** Many texts in one string: cutting a text out of it copies nothing. */
class TextBlob {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next text, by its length in UTF-16 code units. */
  take(length: number): string {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#text.length) throw new Error("a text of the index snapshot ends too early");
    return this.#text.slice(start, this.#at);
  }
}

function toText(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text === undefined) throw new Error("a text of the index snapshot is not UTF-8");
  return text;
}
