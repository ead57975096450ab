import type { SessionStorage } from "@coppice/core";

/** The part of a session that pi's `Session` (0.80 and 0.82) and Coppice's have in common, for any arguments. */
export interface LockstepSession {
  getStorage(): SessionStorage;
  getLeafId(): Promise<string | null>;
  getEntry(id: string): Promise<unknown>;
  getEntries(options?: object): Promise<{ id: string }[]>;
  getBranch(fromId?: string): Promise<{ id: string }[]>;
  getLabel(id: string): Promise<string | undefined>;
  getSessionName(): Promise<string | undefined>;
  /** From 0.82 on. */
  getSessionStats?(): Promise<unknown>;
  buildContext(options?: object): Promise<unknown>;
  buildContextEntries(options?: object): Promise<unknown>;
  appendMessage(message: object): Promise<string>;
  appendThinkingLevelChange(level: string): Promise<string>;
  appendModelChange(provider: string, modelId: string): Promise<string>;
  appendActiveToolsChange(names: string[]): Promise<string>;
  appendCompaction(summary: string, firstKeptEntryId: string | undefined, ...rest: unknown[]): Promise<string>;
  appendCustomEntry(customType: string, data?: unknown): Promise<string>;
  appendCustomMessageEntry(type: string, content: unknown, display: boolean, details?: unknown): Promise<string>;
  appendLabel(targetId: string, label: string | undefined): Promise<string>;
  appendSessionName(name: string): Promise<string>;
  moveTo(id: string | null, summary?: object): Promise<string | undefined>;
}

/** What can be seen after an operation, each part as JSON that speaks of entries by number: equal text, equal session. */
export interface StepView {
  /** The operation's value, or its error's code and message. */
  readonly outcome: string;
  /** The entries from a given one on. */
  readonly entries: string;
  readonly leaf: string;
  readonly context: string;
}

const idPattern = /[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?/g;

/**
 * A session that goes in lockstep with another. Ids are made by the storages, so they differ; entries are numbered in
 * the order in which they were made, and every outcome speaks of those numbers.
 */
export class Subject {
  readonly name: string;
  session: LockstepSession;
  /** Ids in the order in which the entries were made. */
  readonly ids: string[] = [];
  readonly #numberById = new Map<string, number>();
  readonly #reopen: () => Promise<LockstepSession>;

  constructor(name: string, session: LockstepSession, reopen: () => Promise<LockstepSession>) {
    this.name = name;
    this.session = session;
    this.#reopen = reopen;
  }

  /** Reads the session again from where it is kept. */
  async reopen(): Promise<void> {
    this.session = await this.#reopen();
  }

  /** The id at a fraction (0 to below 1) of all entries; one that nobody has while there is none. */
  idAt(fraction: number): string {
    return this.ids[Math.floor(fraction * this.ids.length)] ?? "nobody";
  }

  /** Runs an operation and looks at the session afterwards; of the entries, at those from number `firstEntry` on. */
  async see(run: (subject: Subject) => unknown, firstEntry: number): Promise<StepView> {
    const outcome = await attempt(() => run(this));
    const entries = await this.session.getEntries();
    for (const { id } of entries.slice(this.ids.length)) {
      this.#numberById.set(id, this.ids.length);
      this.ids.push(id);
    }
    return {
      outcome: this.describe(outcome),
      entries: this.describe(entries.slice(firstEntry)),
      leaf: this.describe(await attempt(() => this.session.getLeafId())),
      context: this.describe(await attempt(() => this.session.buildContext())),
    };
  }

  /** As JSON, without what is undefined, every id replaced by its entry's number. */
  describe(value: unknown): string {
    const text = JSON.stringify(value) ?? "undefined";
    return text.replace(idPattern, (id) => {
      const number = this.#numberById.get(id);
      return number === undefined ? id : `entry ${number}`;
    });
  }
}

/** What something came to: a value, or an error's code and message. */
export async function attempt(run: () => unknown): Promise<{ value: unknown } | { code: unknown; message: string }> {
  try {
    return { value: await run() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { code: (error as { code?: unknown }).code, message: error.message };
  }
}
