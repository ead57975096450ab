/** Counters of a relay since it was opened. */
export interface RelayStats {
  /** Cursors that were dropped because they were not their sender's, or too large. */
  droppedCursors: number;
}
