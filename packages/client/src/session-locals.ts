import { SessionError, TaskQueue, type UpdateStore } from "@coppice/core";
import { sha256 } from "@noble/hashes/sha2.js";
import { toHexString } from "lib0/buffer";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";

/** What a session is to one device alone. It stays in the device's store and is never sent. SPEC WS38. */
export interface SessionLocals {
  /** The folder the agent works in here. */
  readonly cwd?: string;
  /** The root of the project here, where that is another folder. */
  readonly projectPath?: string;
  /** What the user has allowed an agent to do here, as the app that asks has it. JSON. */
  readonly approvals?: { readonly [name: string]: unknown };
}

const format: DeviceValueFormat = { version: 1, what: "What this device knows of a session" };

/** By a hash of the session's id, which may be any text; a room id would take ten times as long to derive. */
const localsKey = (sessionId: string): string =>
  `locals/${toHexString(sha256(new TextEncoder().encode(sessionId)).subarray(0, 16))}`;

/** The locals of a workspace's sessions, read once each, so that a list can show them at once. */
export class SessionLocalsKeeper {
  readonly #store: Pick<UpdateStore, "readValue" | "writeValue">;
  readonly #byId = new Map<string, SessionLocals>();
  readonly #reads = new Map<string, Promise<void>>();
  readonly #writes = new TaskQueue();

  constructor(store: Pick<UpdateStore, "readValue" | "writeValue">) {
    this.#store = store;
  }

  /**
   * Reads those that have not been read; true, once they are here, when there were any. One that cannot be read counts
   * as not there: only who wants to change it hears why.
   */
  async load(sessionIds: Iterable<string>): Promise<boolean> {
    const before = this.#reads.size;
    const reads = Array.from(sessionIds, (sessionId) => {
      const reading = this.#reads.get(sessionId) ?? this.#loadOne(sessionId);
      this.#reads.set(sessionId, reading);
      return reading;
    });
    const isNew = this.#reads.size > before;
    await Promise.all(reads);
    return isNew;
  }

  /** What is known of a session here; empty: nothing. */
  get(sessionId: string): SessionLocals {
    return this.#byId.get(sessionId) ?? {};
  }

  /**
   * Changes what is given (absent: stays); settles when it is durable. Rejects `version_mismatch` for what a newer
   * version keeps here, or as the store does.
   */
  set(sessionId: string, change: SessionLocals): Promise<void> {
    return this.#writes.run(async () => {
      const fields = { ...(await this.#read(sessionId)), ...change };
      await this.#store.writeValue(localsKey(sessionId), encodeDeviceValue(format, fields));
      this.#byId.set(sessionId, toLocals(fields));
    });
  }

  async #loadOne(sessionId: string): Promise<void> {
    try {
      const fields = await this.#read(sessionId);
      if (fields !== undefined) this.#byId.set(sessionId, toLocals(fields));
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
    }
  }

  async #read(sessionId: string): Promise<{ readonly [field: string]: unknown } | undefined> {
    return decodeDeviceValue(format, await this.#store.readValue(localsKey(sessionId)));
  }
}

function toLocals({ cwd, projectPath, approvals }: { readonly [field: string]: unknown }): SessionLocals {
  return {
    ...(typeof cwd === "string" ? { cwd } : {}),
    ...(typeof projectPath === "string" ? { projectPath } : {}),
    ...(typeof approvals === "object" && approvals !== null
      ? { approvals: approvals as { readonly [name: string]: unknown } }
      : {}),
  };
}
