import type { UpdateOffence } from "./update-grammar.ts";

/** Name of a close code. */
export type CloseReason =
  | "badFrame"
  | "unauthorised"
  | "forbidden"
  | "badRoomName"
  | "unknownFrame"
  | "versionMismatch"
  | "conflictingHistory"
  | "roomDeleted"
  | "frameTooBig"
  | "textFrame"
  | "badUpdate"
  | "deleteNotAllowed"
  | "foreignContent"
  | "middleInsert"
  | "cyclicOrigins"
  | "tooManyStructs"
  | "tooManyClients"
  | "recordTooBig"
  | "storageFailed"
  | "roomQuarantined"
  | "restarting"
  | "storageFull"
  | "busy";

/**
 * Why a connection was closed. 4400-4499 mean "the same again would be refused again": y-websocket (3.1 and later)
 * does not reconnect. 4500-4599 mean "later": everybody reconnects with growing pauses.
 */
export const closeCodes: Readonly<Record<CloseReason, number>> = {
  /** The bytes are no frame: empty, cut short, with something behind the end, or broken at the websocket level. */
  badFrame: 4400,
  /** No valid token, or one that has expired. */
  unauthorised: 4401,
  /** Known, but not allowed: the origin of a web page, or a role without the right. */
  forbidden: 4403,
  /** The path is no room name. */
  badRoomName: 4404,
  /** A well-formed frame of a kind a relay does not take, or of no known kind. */
  unknownFrame: 4405,
  /** The two sides have no version of the protocol in common; the reason says which of them is to be upgraded. */
  versionMismatch: 4406,
  /** A struct the room holds was sent again with other content. */
  conflictingHistory: 4409,
  /** The room was deleted by its owner, for good. */
  roomDeleted: 4410,
  /** A websocket message larger than the largest frame. */
  frameTooBig: 4413,
  /** A text message; the protocol is binary. */
  textFrame: 4415,
  /** An update whose bytes do not follow the grammar. */
  badUpdate: 4420,
  /** An update that deletes something. */
  deleteNotAllowed: 4421,
  /** An update holding anything but records at the end of `entries`. */
  foreignContent: 4422,
  /** An update that inserts before an existing record. */
  middleInsert: 4423,
  /** An update in which structs wait for each other in a circle. */
  cyclicOrigins: 4424,
  /** An update of more structs than allowed; send it in chunks. */
  tooManyStructs: 4425,
  /** An update of more client sections than allowed; send it in chunks. */
  tooManyClients: 4426,
  /** A record larger than allowed. */
  recordTooBig: 4427,
  /** The room's log could not be read or written; nothing unacknowledged was kept. */
  storageFailed: 4500,
  /** Whoever runs the relay has put this room aside. */
  roomQuarantined: 4502,
  /** The relay is stopping. */
  restarting: 4503,
  /** The relay's disk is full: it serves what it has and takes nothing new until there is space. */
  storageFull: 4507,
  /** The relay has as much as it can carry. */
  busy: 4529,
};

/** Whether a client that was closed with this code should leave it at that: 4400-4499, as y-websocket has it. */
export function isFinalCloseCode(code: number): boolean {
  return code >= 4400 && code < 4500;
}

const reasonByOffence: Readonly<Record<UpdateOffence, CloseReason>> = {
  malformed: "badUpdate",
  delete: "deleteNotAllowed",
  foreign_content: "foreignContent",
  middle_insert: "middleInsert",
  cycle: "cyclicOrigins",
  too_many_structs: "tooManyStructs",
  too_many_clients: "tooManyClients",
  record_too_big: "recordTooBig",
};

/** Name of the close code for an update that is refused. */
export function offenceToCloseReason(offence: UpdateOffence): CloseReason {
  return reasonByOffence[offence];
}
