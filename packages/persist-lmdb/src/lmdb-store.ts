import { assertStoreName, SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import { compactDataFile } from "./compact-data-file.ts";
import { Environment } from "./environment.ts";
import { LmdbUpdateLog } from "./lmdb-update-log.ts";
import { describeOpenError } from "./storage-errors.ts";
import { StoreCore } from "./store-core.ts";

const defaultPollIntervalMs = 50;

/** How to open a store. */
export interface LmdbStoreOptions {
  /** The folder that holds the store; made (mode 700) when missing. It must be on a local disk. */
  readonly path: string;
  /** How often to look for other processes' commits while somebody listens for them. Default 50. */
  readonly pollIntervalMs?: number;
  /** Whether to listen for the file system's events as well, which are faster. Default true. */
  readonly useFileEvents?: boolean;
  /**
   * Whether to write the data file anew first, without its free pages, when they are more than a fifth of it (and 1 MiB)
   * and there is space for that. Only for a folder that no other process opens at the same moment, such as a relay's; it
   * is left as it is when another has it open already. Takes about as long as reading and writing the file. Default false.
   */
  readonly compactOnOpen?: boolean;
}

/**
 * Opens the store in a folder. Several processes, or several stores of one process, may have the same folder open:
 * positions are given once, and each sees what the others committed.
 *
 * Every write (values and derived data too) is on disk when its promise settles, and no other process sees it earlier.
 * Rejects with `storage` when the folder cannot be used, `storage_full`, or `version_mismatch`; the message names the
 * folder and what to do. SPEC UL1-UL33.
 */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<UpdateStore> {
  if (options.compactOnOpen === true) await compactFolder(options.path);
  const environment = new Environment(options.path);
  const revision = (await environment.acquire()).readRevision();
  const { pollIntervalMs = defaultPollIntervalMs, useFileEvents = true } = options;
  return new LmdbStore(new StoreCore(environment, { revision, pollIntervalMs, useFileEvents }));
}

async function compactFolder(folder: string): Promise<void> {
  try {
    await compactDataFile(folder);
  } catch (error) {
    throw describeOpenError(folder, error);
  }
}

class LmdbStore implements UpdateStore {
  readonly #core: StoreCore;
  readonly #openLogs = new Set<UpdateLog>();
  readonly #stopListening = new Set<() => void>();
  #closing: Promise<void> | undefined;

  constructor(core: StoreCore) {
    this.#core = core;
  }

  async openLog(name: string): Promise<UpdateLog> {
    this.#assertOpen();
    assertStoreName("log", name);
    const shared = await this.#core.openSharedLog(name);
    const log = new LmdbUpdateLog(this.#core, shared, () => this.#openLogs.delete(log));
    this.#openLogs.add(log);
    return log;
  }

  async listLogs(): Promise<string[]> {
    this.#assertOpen();
    return this.#core.read((tables) => tables.listLogs());
  }

  async deleteLog(name: string): Promise<void> {
    this.#assertOpen();
    assertStoreName("log", name);
    await this.#core.queue.enqueue({
      log: name,
      bytes: 0,
      isAlone: true,
      stage: (staged) => {
        const { lastSeq, isEmpty } = staged.head(name);
        for (const seq of staged.tables.listSeqs(name, 1, lastSeq))
          staged.add({ kind: "update", log: name, seq, bytes: undefined });
        for (const derived of staged.tables.listDerived(name))
          staged.add({ kind: "derived", log: name, name: derived, bytes: undefined });
        // The head stays, so that positions go on: whoever still reads "what came after 50" elsewhere would
        // otherwise take the first 50 updates of a new log of that name for known.
        if (!isEmpty) staged.setHead(name, { lastSeq, isEmpty: true });
        return lastSeq;
      },
      onCommitted: (lastSeq) => this.#core.findSharedLog(name)?.update({ lastSeq, isEmpty: true }),
    });
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    assertStoreName("value", key);
    return this.#core.read((tables) => tables.readValue(key));
  }

  async writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    this.#assertOpen();
    assertStoreName("value", key);
    const bytes = value === undefined ? undefined : new Uint8Array(value);
    await this.#core.queue.enqueue({
      log: undefined,
      bytes: bytes?.length ?? 0,
      isAlone: false,
      stage: (staged) => staged.add({ kind: "value", key, bytes }),
    });
  }

  onForeignChange(listener: () => void): () => void {
    this.#assertOpen();
    const stopListening = this.#core.onForeignChange(listener);
    this.#stopListening.add(stopListening);
    return () => {
      this.#stopListening.delete(stopListening);
      stopListening();
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const stopListening of this.#stopListening) stopListening();
    await Promise.all([...this.#openLogs].map((log) => log.close()));
    await this.#core.queue.idle();
    await this.#core.environment.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new SessionError("closed", `The store in ${this.#core.environment.folder} is closed; open it again.`);
  }
}
