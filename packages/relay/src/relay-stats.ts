/** What a relay counted since it was opened. */
export interface RelayCounters {
  /** Cursors that were dropped because they were not their sender's, or too large. */
  droppedCursors: number;
  /** Drafts that were not passed on to somebody: too large, too many, or their reader too slow. */
  droppedDrafts: number;
}

/** A relay in numbers, for tests and status pages. */
export interface RelayStats extends Readonly<RelayCounters> {
  /** Open connections. */
  readonly connections: number;
  /** Rooms in memory. */
  readonly rooms: number;
  /** Bytes that wait in the fullest send buffer of all connections. */
  readonly largestBacklogBytes: number;
}
