import { SessionError } from "./errors.ts";
import { createUuidV7Source, type IdSource } from "./ids.ts";
import { InMemorySessionStorage } from "./in-memory-session-storage.ts";
import { Session } from "./session.ts";
import { readForkLines, type SessionCreateOptions, type SessionForkOptions, type SessionRepo } from "./session-repo.ts";
import type { SessionMetadata } from "./session-storage.ts";

/** Where the ids and times of a repository's sessions come from. */
export interface InMemorySessionRepoOptions {
  /** Makes session and entry ids; default UUIDv7. */
  readonly createId?: IdSource;
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: () => number;
}

/** What a new session in memory may be given. */
export interface InMemorySessionCreateOptions extends SessionCreateOptions {
  readonly cwd?: string;
  readonly metadata?: { [key: string]: unknown };
}

/** Sessions in memory. Opening one twice gives the same object, as there is only one place that holds it. */
export class InMemorySessionRepo implements SessionRepo<SessionMetadata, InMemorySessionCreateOptions> {
  readonly #sessions = new Map<string, Session<InMemorySessionStorage>>();
  readonly #createId: IdSource;
  readonly #now: () => number;

  constructor(options: InMemorySessionRepoOptions = {}) {
    this.#now = options.now ?? Date.now;
    this.#createId = options.createId ?? createUuidV7Source({ now: this.#now });
  }

  async create(options: InMemorySessionCreateOptions = {}): Promise<Session<InMemorySessionStorage>> {
    return this.#add(options, []);
  }

  async open(metadata: Pick<SessionMetadata, "id">): Promise<Session<InMemorySessionStorage>> {
    const session = this.#sessions.get(metadata.id);
    if (session === undefined) throw new SessionError("not_found", `Session not found: ${metadata.id}`);
    return session;
  }

  async list(): Promise<SessionMetadata[]> {
    const all = await Promise.all([...this.#sessions.values()].map((session) => session.getMetadata()));
    return all.reverse().sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  }

  async delete(metadata: Pick<SessionMetadata, "id">): Promise<void> {
    this.#sessions.delete(metadata.id);
  }

  async fork(
    source: Pick<SessionMetadata, "id">,
    options: SessionForkOptions & InMemorySessionCreateOptions = {},
  ): Promise<Session<InMemorySessionStorage>> {
    const session = await this.open(source);
    return this.#add(options, await readForkLines(session.getStorage(), options));
  }

  #add(options: InMemorySessionCreateOptions, lines: readonly string[]): Session<InMemorySessionStorage> {
    const { id = this.#createId(), cwd, metadata } = options;
    if (this.#sessions.has(id)) throw new SessionError("invalid_session", `Session ${id} exists already`);
    const createdAt = new Date(this.#now()).toISOString();
    const storage = new InMemorySessionStorage({
      metadata: {
        id,
        createdAt,
        ...(cwd === undefined ? {} : { cwd }),
        ...(metadata === undefined ? {} : { metadata }),
      },
      lines,
      createId: this.#createId,
      now: this.#now,
    });
    const session = new Session(storage, { now: this.#now });
    this.#sessions.set(id, session);
    return session;
  }
}
