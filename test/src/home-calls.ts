/** What a process on a shared home can be asked to do, and what it answers. All values travel as JSON. */
export interface HomeCalls {
  open: { ask: { home: string; sessionId: string; creates: boolean }; answer: null };
  /**
   * Appends until `count` entries are durable; `underWay` at a time. Each is told as an `appended` notice at once, so
   * that the reader knows what was promised when the process is killed.
   */
  write: { ask: { label: string; count: number; underWay: number }; answer: null };
  /** Waits until the session here holds this many entries; then tells all of it. */
  report: { ask: { entries: number; timeoutMs: number }; answer: HomeReport };
  close: { ask: null; answer: null };
}

/** An entry that is durable, as its writer tells it. */
export interface AppendedNotice {
  readonly notice: "appended";
  readonly id: string;
  /** When its append resolved, in ms since 1970 with fractions. */
  readonly atMs: number;
}

/** The session as one process sees it. */
export interface HomeReport {
  /** Ids in log order. */
  readonly ids: string[];
  /** When entries of other processes were first seen here, in ms since 1970 with fractions, in order of arrival. */
  readonly seen: (readonly [id: string, atMs: number])[];
}
