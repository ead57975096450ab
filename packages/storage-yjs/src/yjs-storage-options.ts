import type { IdSource, SliceOptions } from "@coppice/core";
import type * as Y from "yjs";
import type { ArrivalOrder } from "./arrival-order.ts";
import type { OwnLeafStore } from "./device-leaf.ts";
import type { IndexSnapshotStore } from "./index-keeper.ts";
import type { RecordCrypto } from "./record-crypto.ts";
import type { RoomKeys } from "./room-keys.ts";

/** What a session on a Yjs document is opened with. */
export interface YjsSessionStorageOptions {
  /** The doc of the session's room, with the local log already applied. It stays the caller's. */
  doc: Y.Doc;
  sessionId: string;
  /** Absent: an unsealed room. */
  keys?: RoomKeys | undefined;
  /** Keys the room had before; records that were sealed with one of them are shown too. */
  olderKeys?: readonly RoomKeys[] | undefined;
  /** This device; it stands in every record written here. */
  deviceId: string;
  /** Ids this device had before, newest first: where it stood under them, it stands. Default: none. */
  formerDeviceIds?: readonly string[] | undefined;
  /** False for a replica that attached and never completed a sync: it has no leaf and may not append. */
  synced: boolean;
  /** Settles when every update the doc has emitted so far is durable, rejects with a `SessionError`. Default: at once. */
  flushed?: (() => Promise<void>) | undefined;
  /** Default: the leaf of a device that has written nothing yet is forgotten on close. */
  ownLeaf?: OwnLeafStore | undefined;
  /** Milliseconds since 1970; default the system clock. */
  now?: (() => number) | undefined;
  /** Makes entry ids; default UUIDv7. */
  createId?: IdSource | undefined;
  /** Default: pure JavaScript. */
  crypto?: RecordCrypto | undefined;
  /** Where the index is kept between two opens; default nowhere: every open then opens every record's header. */
  indexSnapshot?: IndexSnapshotStore | undefined;
  /** In which order the doc's records arrived; whoever gives it has it follow the doc. Default: as they are found, then as they come. */
  arrivals?: ArrivalOrder | undefined;
  /** How opening a long log gives way to other work. */
  slices?: SliceOptions | undefined;
}
