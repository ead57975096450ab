const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** A whole websocket message, bytes. A larger one closes the connection with 4413 before it is read. */
export const maxFrameBytes: number = 32 * mebibyte;

/** A whole awareness frame, bytes. Cursors are small; this bounds what one connection can make every other one hold. */
export const maxAwarenessFrameBytes: number = 16 * kibibyte;

/**
 * How deep the JSON of one cursor may nest. Receivers compare and print states recursively, so a state deep enough
 * to overflow their stack would take every other client of the room down.
 */
export const maxAwarenessDepth = 64;

/**
 * Largest clock of a cursor. Others answer a clock with clock + 1, so the largest safe integer itself would make them
 * write a number that no decoder accepts. 2^32 - 1 also fits clients that keep clocks in 32 bits.
 */
export const maxAwarenessClock: number = 2 ** 32 - 1;

/** The sealed bytes of one draft. A draft is sent again as it grows, to everybody, and is never worth more than a record. */
export const maxDraftBytes: number = 64 * kibibyte;

/** Rooms one `headsRequest` may name: about 33 KiB of names as they are derived, and 60 KiB of answer. */
export const maxRoomsPerRequest = 1_000;

/** One record (an element of the log), bytes. */
export const maxRecordBytes: number = 8 * mebibyte;

/** Structs of one update, skips counted. Above, integrating one update could stall a reader. */
export const maxStructsPerUpdate = 16_384;

/** Client sections of one update. */
export const maxClientsPerUpdate = 4_096;

/** What a chunk of several structs may reach, bytes. One record larger than this is a chunk of its own. */
export const maxChunkBytes: number = 256 * kibibyte;

/** Bounds of one update; the defaults are those of the protocol, tests pass smaller ones. */
export interface UpdateLimits {
  readonly maxStructs: number;
  readonly maxClients: number;
  readonly maxRecordBytes: number;
}

/** The bounds every relay and client of protocol version 1 keeps. */
export const protocolLimits: UpdateLimits = {
  maxStructs: maxStructsPerUpdate,
  maxClients: maxClientsPerUpdate,
  maxRecordBytes,
};
