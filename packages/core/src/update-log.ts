/** One update as an update log keeps it: as it came, or several merged (a chunk). */
export interface StoredUpdate {
  /**
   * Position in the log: starts at 1, grows by 1 per append, never reused, not even by a log of the same name that is
   * made after `deleteLog`. A merged chunk keeps its last position.
   */
  readonly seq: number;
  /** The bytes as they were appended. Owned by the reader. */
  readonly update: Uint8Array;
}

/**
 * Where the updates of one room are kept durably: on a device the local log, on the relay the room's log.
 * Bytes are opaque to it. After `close` reading and writing reject with `closed`; `lastSeq` keeps its last answer.
 */
export interface UpdateLog {
  /**
   * Adds one update at the end. Settles with its position when it is durable (fsynced, or the storage's strongest
   * promise); updates appended in one turn may share one commit, order is kept. Rejects with `storage`,
   * `storage_full` or `closed`; then nothing of this update is in the log and the call may be repeated. Appends that
   * wait behind a failed one of the same log fail with it, so that none stands in the log without those before it.
   */
  append(update: Uint8Array): Promise<number>;
  /**
   * Updates with `seq > after` (default 0: all) up to the end as it is at the call, in order. Never loads the whole log.
   * It may be merged before or while it is read, also behind that end: the reading then ends with the first update at or
   * behind the end, so that whoever asks for a position gets what was appended there.
   */
  read(after?: number): AsyncIterable<StoredUpdate>;
  /** Position of the last durable update; 0 when the log is empty. */
  lastSeq(): number;
  /**
   * Replaces the updates with `from <= seq <= to` by one merged update at position `to`, atomically and durably. So what
   * was appended at a position always stands in the first update at or behind it, and who remembers a position need not
   * know of any merge. Rejects with `not_found` when no update stands at `to`. The caller has verified that `merged`
   * holds the same content.
   */
  replaceRange(from: number, to: number, merged: Uint8Array): Promise<void>;
  /** Data derived from the log under a name, or undefined. It may vanish at any time; the log alone is the truth. */
  readDerived(name: string): Promise<Uint8Array | undefined>;
  /** Stores derived data under a name; settles when it is written, not necessarily fsynced. */
  writeDerived(name: string, data: Uint8Array): Promise<void>;
  /**
   * Calls the listener after anything was appended to this log by another handle or another process (own appends
   * through this handle are not reported). Returns the function that stops it.
   */
  onForeignAppend(listener: () => void): () => void;
  /** Waits for appends in flight, then releases the log. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * A folder (or database) of update logs, plus small durable values of this device that belong to no log. After `close`
 * every other call rejects or throws with `closed`.
 */
export interface UpdateStore {
  /** Opens the log of that name, making it when it does not exist. Names are 1-200 printable ASCII characters. */
  openLog(name: string): Promise<UpdateLog>;
  /** Names of logs that hold at least one update, sorted. */
  listLogs(): Promise<string[]>;
  /** Removes a log with its derived data; a name that does not exist is fine. A new log of that name goes on counting. */
  deleteLog(name: string): Promise<void>;
  /** A durable value, or undefined. */
  readValue(key: string): Promise<Uint8Array | undefined>;
  /** Stores a value (undefined removes it); settles when it is durable. */
  writeValue(key: string, value: Uint8Array | undefined): Promise<void>;
  /** Calls the listener after another process changed anything in the store. Returns the function that stops it. */
  onForeignChange(listener: () => void): () => void;
  /** Closes every open log and the store. Safe to call twice. */
  close(): Promise<void>;
}
