/** Bounds and intervals of a relay. Bytes, milliseconds and counts, as the names say. */
export interface RelayLimits {
  /** Connections at one time; one more is closed with 4529. */
  readonly maxConnections: number;
  /** Bytes of received frames that may wait for one connection (for its room to load, for the disk) before the relay stops reading from its socket. */
  readonly maxQueuedBytes: number;
  /** Bytes of messages that have begun and not ended, of all connections together; who holds most of them is closed with 4529. */
  readonly maxUnfinishedBytes: number;
  /** Bytes that may wait in one socket's send buffer before the relay stops sending to it. */
  readonly maxBufferedBytes: number;
  /** Bytes of recent updates a room keeps in memory for readers that are almost at the head; others read from disk. */
  readonly maxRecentBytes: number;
  /** Drafts one connection may send in a second, and at once. Others are dropped. */
  readonly maxDraftsPerSecond: number;
  /** The same in bytes. */
  readonly maxDraftBytesPerSecond: number;
  /** Bytes that may wait in one socket's send buffer for a draft to be sent to it; above, that reader misses the draft. */
  readonly maxBufferedBytesForDrafts: number;
  /** Rooms of which one connection may ask the heads in a second. */
  readonly maxHeadsPerSecond: number;
  /** The same at once, by one that has not asked for a while. */
  readonly maxHeadsAtOnce: number;
  /** How often every connection gets an empty awareness frame. y-websocket drops a connection that was silent for 30 s. */
  readonly keepAliveIntervalMs: number;
  /** How often every connection is pinged; one that has not answered the last ping is terminated. */
  readonly pingIntervalMs: number;
  /** How long the holder of a cursor has to answer a ping when another connection claims the same cursor. */
  readonly claimPingTimeoutMs: number;
  /** How long after asking one connection for missing updates it is not asked again. */
  readonly gapBackoffMs: number;
  /** How long a room without connections stays in memory. */
  readonly roomIdleMs: number;
  /** Small stored updates after which a busy room merges them in the background; an idle room merges fewer. */
  readonly mergeAfterUpdates: number;
  /** The same in bytes. */
  readonly mergeAfterBytes: number;
  /** How often the relay looks whether its store can be read. */
  readonly storeCheckIntervalMs: number;
  /** How long the store must have been unreadable before the relay reports that it has failed. */
  readonly storeLostAfterMs: number;
  /** How long a closing relay waits for clients to answer the close frame before it cuts them off. */
  readonly closeGraceMs: number;
}

/** The limits used unless told otherwise. */
export const defaultRelayLimits: RelayLimits = {
  maxConnections: 10_000,
  maxQueuedBytes: 1024 * 1024,
  // Several of the largest frames at a time.
  maxUnfinishedBytes: 160 * 1024 * 1024,
  maxBufferedBytes: 1024 * 1024,
  maxRecentBytes: 1024 * 1024,
  maxDraftsPerSecond: 50,
  maxDraftBytesPerSecond: 256 * 1024,
  maxBufferedBytesForDrafts: 128 * 1024,
  maxHeadsPerSecond: 1_000,
  // A workspace of ten thousand sessions asks for all of them when it connects.
  maxHeadsAtOnce: 10_000,
  keepAliveIntervalMs: 20_000,
  pingIntervalMs: 30_000,
  claimPingTimeoutMs: 5_000,
  gapBackoffMs: 5_000,
  roomIdleMs: 10_000,
  mergeAfterUpdates: 64,
  mergeAfterBytes: 256 * 1024,
  storeCheckIntervalMs: 1_000,
  storeLostAfterMs: 10_000,
  closeGraceMs: 2_000,
};
