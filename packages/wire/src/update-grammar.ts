import type { Result } from "@coppice/core";
import {
  createEncoder,
  type Encoder,
  toUint8Array,
  writeUint8,
  writeUint8Array,
  writeVarString,
  writeVarUint,
  writeVarUint8Array,
} from "lib0/encoding";
import { ByteReader } from "./byte-reader.ts";
import { encodeExactly, varUintBytes } from "./exact-encoder.ts";
import { protocolLimits, type UpdateLimits } from "./limits.ts";

/*
 * The only updates Coppice takes: Yjs update encoding v1 (yjs/src/utils/encoding.js, structs/Item.js, structs/Skip.js)
 * narrowed to records pushed at the end of one array. Yjs itself decodes far more, and decodes it neither strictly nor
 * safely: one stored update of 15 bytes can make a document unreadable for everybody. So nothing else gets past here.
 */

/** Name of the one root type of a session document. */
export const rootTypeName = "entries";

/** Identity of a struct: the Yjs client that made it and its number among that client's structs, from 0. */
export interface StructId {
  readonly client: number;
  readonly clock: number;
}

/** One record as a Yjs struct. */
export interface Struct extends StructId {
  /** The record this one was pushed behind; null when the log was empty for its writer. */
  readonly origin: StructId | null;
  /** Content, a view of the update it was parsed from. */
  readonly record: Uint8Array;
  /** The struct's bytes from its info byte to the end of its record, a view of the update it was parsed from. */
  readonly encoded: Uint8Array;
}

/** A parsed update: what it holds, nothing of how it fits a room. */
export interface ParsedUpdate {
  /** In the order of the update: clients descending, clocks ascending within a client. */
  readonly structs: readonly Struct[];
  /** Whether something between two structs is declared missing (a Yjs Skip). */
  readonly hasSkip: boolean;
}

/**
 * Why an update is refused: `malformed` (not the grammar), `delete` (deletes something, or holds something deleted),
 * `foreign_content` (no record of the root type), `middle_insert` (put before an existing record), `cycle`
 * (structs that wait for each other), and the limits.
 */
export type UpdateOffence =
  | "malformed"
  | "delete"
  | "foreign_content"
  | "middle_insert"
  | "cycle"
  | "too_many_structs"
  | "too_many_clients"
  | "record_too_big";

// Info bytes: the low five bits are the content kind, the high bits say what follows (Item.js, `write`).
const contentMask = 0x1f;
const contentGarbage = 0;
const contentDeleted = 1;
const contentBytes = 3;
const contentSkip = 10;
const hasOriginBit = 0x80;
const hasRightOriginBit = 0x40;
const hasMapKeyBit = 0x20;

/** Info byte of a record with an origin, of one without, and of a skip. */
const infoWithOrigin = contentBytes | hasOriginBit;
const infoWithoutOrigin = contentBytes;
const infoSkip = contentSkip;

/** Number written before a parent that is named (a root type) rather than pointed at. */
const parentIsNamed = 1;

/**
 * Parses an update by the grammar. Never throws; time and memory are linear in the input and bounded by the limits.
 * What the structs point at is not looked at: see `admitStructs`.
 */
export function parseUpdate(
  bytes: Uint8Array,
  limits: UpdateLimits = protocolLimits,
): Result<ParsedUpdate, UpdateOffence> {
  const parser = new UpdateParser(bytes, limits);
  const structs = parser.readSections();
  if (parser.offence === undefined && parser.reader.readVarUint() !== 0) parser.refuse("delete");
  // A refusal seen in bytes that were cut short may be an accident of the cut: then they are just malformed.
  if (parser.reader.failed) return { ok: false, error: "malformed" };
  if (parser.offence !== undefined) return { ok: false, error: parser.offence };
  if (!parser.reader.isComplete) return { ok: false, error: "malformed" };
  return { ok: true, value: { structs, hasSkip: parser.hasSkip } };
}

class UpdateParser {
  readonly reader: ByteReader;
  readonly limits: UpdateLimits;
  offence: UpdateOffence | undefined;
  hasSkip = false;
  #structCount = 0;

  constructor(bytes: Uint8Array, limits: UpdateLimits) {
    this.reader = new ByteReader(bytes);
    this.limits = limits;
  }

  refuse(offence: UpdateOffence): void {
    this.offence ??= offence;
  }

  get #isStopped(): boolean {
    return this.reader.failed || this.offence !== undefined;
  }

  readSections(): Struct[] {
    const structs: Struct[] = [];
    const sectionCount = this.reader.readVarUint();
    if (sectionCount > this.limits.maxClients) this.refuse("too_many_clients");
    let previousClient = Number.POSITIVE_INFINITY;
    for (let i = 0; i < sectionCount && !this.#isStopped; i += 1) {
      previousClient = this.#readSection(previousClient, structs);
    }
    return structs;
  }

  #readSection(previousClient: number, structs: Struct[]): number {
    const { reader } = this;
    const count = reader.readVarUint();
    const client = reader.readVarUint();
    let clock = reader.readVarUint();
    this.#structCount += count;
    if (this.#structCount > this.limits.maxStructs) this.refuse("too_many_structs");
    if (count === 0 || client >= previousClient) this.refuse("malformed");
    for (let i = 0; i < count && !this.#isStopped; i += 1) {
      const start = reader.offset;
      const info = reader.readByte();
      if (info === infoSkip) {
        clock += this.#readSkipLength();
      } else {
        const struct = this.#readStruct(client, clock, info, start);
        if (struct !== undefined) structs.push(struct);
        clock += 1;
      }
      if (clock > Number.MAX_SAFE_INTEGER) this.refuse("malformed");
    }
    return client;
  }

  #readSkipLength(): number {
    const length = this.reader.readVarUint();
    if (length === 0) this.refuse("malformed");
    this.hasSkip = true;
    return length;
  }

  #readStruct(client: number, clock: number, info: number, start: number): Struct | undefined {
    const { reader } = this;
    let origin: StructId | null = null;
    if (info === infoWithOrigin) {
      origin = { client: reader.readVarUint(), clock: reader.readVarUint() };
    } else if (info === infoWithoutOrigin) {
      if (reader.readVarUint() !== parentIsNamed || reader.readVarString() !== rootTypeName) {
        this.refuse("foreign_content");
        return undefined;
      }
    } else {
      this.refuse(infoToOffence(info));
      return undefined;
    }
    const length = reader.readVarUint();
    if (length > this.limits.maxRecordBytes) {
      this.refuse("record_too_big");
      return undefined;
    }
    const record = reader.readBytes(length);
    return { client, clock, origin, record, encoded: reader.bytes.subarray(start, reader.offset) };
  }
}

function infoToOffence(info: number): UpdateOffence {
  const content = info & contentMask;
  if (content === contentGarbage || content === contentDeleted) return "delete";
  if (content > contentSkip) return "malformed";
  if (content === contentBytes && (info & hasRightOriginBit) !== 0 && (info & hasMapKeyBit) === 0) {
    return "middle_insert";
  }
  return "foreign_content";
}

/**
 * Writes structs as one update that `parseUpdate` and Yjs read. The structs of one client must come in ascending
 * clocks (a hole between two becomes a skip); clients may be mixed. No structs give the empty update.
 */
export function encodeUpdate(structs: readonly Struct[]): Uint8Array {
  const structsByClient = new Map<number, Struct[]>();
  for (const struct of structs) {
    const ofClient = structsByClient.get(struct.client);
    if (ofClient === undefined) structsByClient.set(struct.client, [struct]);
    else ofClient.push(struct);
  }
  const clients = [...structsByClient.keys()].sort((left, right) => right - left);
  const sections = clients.map((client) => measureSection(client, structsByClient.get(client) ?? []));
  const noDeletes = 0;
  let bytes = varUintBytes(sections.length) + varUintBytes(noDeletes);
  for (const section of sections) bytes += section.bytes;
  return encodeExactly(bytes, (encoder) => {
    writeVarUint(encoder, sections.length);
    for (const section of sections) writeSection(encoder, section);
    writeVarUint(encoder, noDeletes);
  });
}

/** The bytes of one struct, as `Struct.encoded` has them. */
export function encodeStruct({ origin, record }: Pick<Struct, "origin" | "record">): Uint8Array {
  const encoder = createEncoder();
  if (origin === null) {
    writeUint8(encoder, infoWithoutOrigin);
    writeVarUint(encoder, parentIsNamed);
    writeVarString(encoder, rootTypeName);
  } else {
    writeUint8(encoder, infoWithOrigin);
    writeVarUint(encoder, origin.client);
    writeVarUint(encoder, origin.clock);
  }
  writeVarUint8Array(encoder, record);
  return toUint8Array(encoder);
}

/** The structs of one client, ready to be written. */
interface Section {
  readonly client: number;
  readonly firstClock: number;
  readonly structs: readonly Struct[];
  /** Structs and the skips between them. */
  readonly count: number;
  /** Size of the whole section. */
  readonly bytes: number;
}

function measureSection(client: number, structs: readonly Struct[]): Section {
  const firstClock = structs[0]?.clock ?? 0;
  let count = 0;
  let bytes = varUintBytes(client) + varUintBytes(firstClock);
  let clock = firstClock;
  for (const struct of structs) {
    if (struct.clock !== clock) {
      count += 1;
      bytes += 1 + varUintBytes(struct.clock - clock);
    }
    count += 1;
    bytes += struct.encoded.length;
    clock = struct.clock + 1;
  }
  return { client, firstClock, structs, count, bytes: bytes + varUintBytes(count) };
}

function writeSection(encoder: Encoder, { client, firstClock, structs, count }: Section): void {
  writeVarUint(encoder, count);
  writeVarUint(encoder, client);
  writeVarUint(encoder, firstClock);
  let clock = firstClock;
  for (const struct of structs) {
    if (struct.clock !== clock) {
      writeUint8(encoder, infoSkip);
      writeVarUint(encoder, struct.clock - clock);
    }
    writeUint8Array(encoder, struct.encoded);
    clock = struct.clock + 1;
  }
}
