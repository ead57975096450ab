import * as encoding from "lib0/encoding";
import { ByteReader, MalformedBytes } from "./byte-reader.ts";
import { decodeText, encodeText } from "./text-codec.ts";

/**
 * What of an entry stands in its record's header: all that the index of a session needs, so that payloads stay closed
 * until somebody asks for them.
 */
export interface RecordFields {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly timestamp: string;
  /** Device that wrote the record. */
  readonly deviceId: string;
  /** Lamport number: 1 + the highest the writer knew. */
  readonly n: number;
  /** Of `message`. */
  readonly role?: string | null | undefined;
  /** Of `leaf`, `label` and `context_edit`. */
  readonly targetId?: string | null | undefined;
  /** Of `label`. */
  readonly label?: string | null | undefined;
  /** Of `session_info`. */
  readonly sessionName?: string | null | undefined;
}

/** A header as it stands in a record. */
export interface RecordHeader extends RecordFields {
  /** Bytes of the entry's JSON text. */
  readonly jsonBytes: number;
  /** Bytes of the payload as stored: deflated if it is, before padding. */
  readonly storedBytes: number;
}

/** Tags of the index fields. Readers skip tags they do not know, so later versions may add some. */
const tagByIndexField = { role: 1, targetId: 2, label: 3, sessionName: 4 } as const;

type IndexField = keyof typeof tagByIndexField;

const indexFields = Object.keys(tagByIndexField) as IndexField[];
const indexFieldByTag = new Map<number, IndexField>(indexFields.map((field) => [tagByIndexField[field], field]));

/** The plaintext of a header part. SPEC RC, table "Header". */
export function encodeHeader(header: RecordHeader): Uint8Array {
  const encoder = encoding.createEncoder();
  writeText(encoder, header.id);
  writeNullableText(encoder, header.parentId);
  writeText(encoder, header.type);
  writeText(encoder, header.timestamp);
  writeText(encoder, header.deviceId);
  encoding.writeVarUint(encoder, header.n);
  encoding.writeVarUint(encoder, header.jsonBytes);
  encoding.writeVarUint(encoder, header.storedBytes);
  const present = indexFields.filter((field) => header[field] !== undefined);
  encoding.writeVarUint(encoder, present.length);
  for (const field of present) {
    encoding.writeUint8(encoder, tagByIndexField[field]);
    writeNullableText(encoder, header[field] ?? null);
  }
  return encoding.toUint8Array(encoder);
}

/** Reads what `encodeHeader` wrote. Throws `MalformedBytes` for anything else, trailing bytes included. */
export function decodeHeader(bytes: Uint8Array): RecordHeader {
  const reader = new ByteReader(bytes);
  // One object, filled in place: copying it field by field costs as much as reading it.
  const header: { -readonly [Field in keyof RecordHeader]: RecordHeader[Field] } = {
    id: readText(reader),
    parentId: readNullableText(reader),
    type: readText(reader),
    timestamp: readText(reader),
    deviceId: readText(reader),
    n: reader.readVarUint(),
    jsonBytes: reader.readVarUint(),
    storedBytes: reader.readVarUint(),
  };
  for (let left = reader.readVarUint(); left > 0; left--) {
    const field = indexFieldByTag.get(reader.readByte());
    const value = readNullableBytes(reader);
    if (field === undefined) continue;
    if (header[field] !== undefined) throw new MalformedBytes(`index field ${field} stands twice`);
    header[field] = value === null ? null : toText(value);
  }
  if (reader.remaining > 0) throw new MalformedBytes(`${reader.remaining} bytes after the header`);
  return header;
}

function writeText(encoder: encoding.Encoder, text: string): void {
  encoding.writeVarUint8Array(encoder, encodeText(text));
}

function readText(reader: ByteReader): string {
  return toText(reader.readBytes(reader.readVarUint()));
}

/** 0 for null, otherwise the length + 1: an empty string is not null. */
function writeNullableText(encoder: encoding.Encoder, text: string | null): void {
  if (text === null) {
    encoding.writeVarUint(encoder, 0);
    return;
  }
  const bytes = encodeText(text);
  encoding.writeVarUint(encoder, bytes.length + 1);
  encoding.writeUint8Array(encoder, bytes);
}

function readNullableText(reader: ByteReader): string | null {
  const bytes = readNullableBytes(reader);
  return bytes === null ? null : toText(bytes);
}

function readNullableBytes(reader: ByteReader): Uint8Array | null {
  const prefix = reader.readVarUint();
  return prefix === 0 ? null : reader.readBytes(prefix - 1);
}

function toText(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text === undefined) throw new MalformedBytes("a text is not UTF-8");
  return text;
}
