import type { LmdbTables, LogHead, Write } from "./lmdb-tables.ts";

/** The writes of one commit as they come together: reads what is stored, and heads as the commit will leave them. */
export class StagedWrites {
  readonly tables: LmdbTables;
  readonly #headByLog = new Map<string, LogHead>();
  readonly #writes: Write[] = [];

  constructor(tables: LmdbTables) {
    this.tables = tables;
  }

  /** All writes, ready to be committed. */
  list(): Write[] {
    const heads = [...this.#headByLog].map(([log, head]): Write => ({ kind: "head", log, head }));
    return [...this.#writes, ...heads];
  }

  head(log: string): LogHead {
    return this.#headByLog.get(log) ?? this.tables.readHead(log);
  }

  setHead(log: string, head: LogHead): void {
    this.#headByLog.set(log, head);
  }

  add(write: Write): void {
    this.#writes.push(write);
  }
}
