import { createNewerVersionError } from "@coppice/core";

type Fields = { readonly [field: string]: unknown };

/** A kind of value that a device keeps in its store, as JSON with the version of its form in `v`. */
export interface DeviceValueFormat {
  /** The version that is written. What has no `v` has version 1. */
  readonly version: number;
  /** What the value is, as the beginning of a sentence: "The place of this device in a session". */
  readonly what: string;
}

/** Writes a value down. */
export function encodeDeviceValue({ version }: DeviceValueFormat, fields: Fields): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ ...fields, v: version }));
}

/**
 * Reads a value back. Throws `version_mismatch` for one that a later version wrote: it is neither used nor overwritten.
 * Undefined: there is none, or it is damaged, which for a small value of one device comes to the same. SPEC WS50.
 */
export function decodeDeviceValue(format: DeviceValueFormat, bytes: Uint8Array | undefined): Fields | undefined {
  const fields = bytes && parseObject(new TextDecoder().decode(bytes));
  if (typeof fields?.v === "number" && fields.v > format.version) throw createNewerVersionError(format.what);
  return fields;
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
