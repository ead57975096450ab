import { createUuidV7 } from "@coppice/core";
import {
  type LogChange,
  type LogRecord,
  RecordCodec,
  type RecordCrypto,
  type RecordHeader,
  RecordLog,
  type RoomKeys,
} from "@coppice/storage-yjs";
import type * as Y from "yjs";

/** Lists a session in the workspace. SPEC WS3. */
export interface WorkspaceSessionRecord {
  readonly type: "workspace_session";
  readonly sessionId: string;
  readonly createdAt: string;
  readonly cwd: string;
  /** 8 hex digits. */
  readonly keyId: string;
  readonly name?: string;
  /** base64url; only where the room key is not the derived one. */
  readonly key?: string;
}

/** A device tells its name. SPEC WS4. */
export interface WorkspaceDeviceRecord {
  readonly type: "workspace_device";
  readonly deviceId: string;
  readonly name: string;
  readonly person?: string;
}

interface ReadRecord {
  readonly header: RecordHeader;
  /** Undefined: of a kind this version does not know, or unreadable. */
  readonly content: WorkspaceSessionRecord | WorkspaceDeviceRecord | undefined;
}

/** Stands where a session's records have their session id, so that no record of a session opens here or the reverse. */
const workspaceSessionId = "workspace";

/**
 * The append-only list of a workspace's sessions and devices, in records of the session record format. State is what
 * the records say; "last" means greatest (`n`, log position), as in a session.
 */
export class WorkspaceLog {
  readonly #codec: RecordCodec;
  #log: RecordLog;
  /** Who writes; the workspace sets another when its home turns out to be a copy. */
  deviceId: string;
  readonly #onChange: () => void;
  /** In log order; undefined where a record does not open. */
  #records: (ReadRecord | undefined)[] = [];
  #sessions: ReadonlyMap<string, WorkspaceSessionRecord> | undefined;
  #devices: ReadonlyMap<string, WorkspaceDeviceRecord> | undefined;

  constructor(
    doc: Y.Doc,
    options: { keys: RoomKeys | undefined; crypto?: RecordCrypto | undefined; deviceId: string; onChange: () => void },
  ) {
    const { keys, crypto } = options;
    this.#codec = new RecordCodec({ sessionId: workspaceSessionId, keys, crypto });
    this.deviceId = options.deviceId;
    this.#onChange = options.onChange;
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
  }

  /** Sessions by id, in the order in which they were first listed. */
  sessions(): ReadonlyMap<string, WorkspaceSessionRecord> {
    this.#sessions ??= this.#readSessions();
    return this.#sessions;
  }

  /** Devices by id. */
  devices(): ReadonlyMap<string, WorkspaceDeviceRecord> {
    this.#devices ??= this.#readDevices();
    return this.#devices;
  }

  /** Appends one record; it is in the document when the call returns, durability is the replica's matter. */
  append(content: WorkspaceSessionRecord | WorkspaceDeviceRecord): void {
    const id = createUuidV7();
    const timestamp = new Date().toISOString();
    const { type, ...fields } = content;
    this.#log.append([
      this.#codec.prepareRecord({
        id,
        parentId: null,
        type,
        timestamp,
        deviceId: this.deviceId,
        n: 1 + this.#records.reduce((highest, record) => Math.max(highest, this.#rankOf(record)), 0),
        json: JSON.stringify({ type, id, parentId: null, timestamp, ...fields }),
      }),
    ]);
  }

  /**
   * Goes on with another document of the same room, and appends these records to it as far as it does not hold them.
   * Returns those that do not open.
   */
  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    this.#log.close();
    this.#records = [];
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
    const known = new Set(this.#records.map((record) => record && toIdentity(record)));
    const unreadable: LogRecord[] = [];
    for (const record of setAside) {
      const header = this.#codec.openHeader(record.bytes, record);
      const json = header.ok ? this.#codec.openPayload(record.bytes, record, header.value) : header;
      if (!header.ok || !json.ok) unreadable.push(record);
      else if (!known.has(toIdentity({ header: header.value, content: parseContent(json.value) })))
        this.#log.append([this.#codec.prepareRecord({ ...header.value, json: json.value })]);
    }
    this.#takeChange({ runs: [], remote: true });
    return unreadable;
  }

  /** Stops listening to the document. Safe to call twice. */
  close(): void {
    this.#log.close();
  }

  #takeChange({ runs }: LogChange): void {
    for (const { position, records } of runs) {
      const read = records.map((record): ReadRecord | undefined => {
        const header = this.#codec.openHeader(record.bytes, record);
        if (!header.ok) return undefined;
        const json = this.#codec.openPayload(record.bytes, record, header.value);
        return { header: header.value, content: json.ok ? parseContent(json.value) : undefined };
      });
      this.#records.splice(position, 0, ...read);
    }
    this.#sessions = undefined;
    this.#devices = undefined;
    this.#onChange();
  }

  /** An honest `n` never exceeds the number of records; a larger one would win for ever, so it counts as none. */
  #rankOf(record: ReadRecord | undefined): number {
    if (record === undefined || record.header.n > this.#records.length) return 0;
    return record.header.n;
  }

  #ranked(): ReadRecord[] {
    // The sort is stable: equal ranks stay in log order.
    return this.#records
      .filter((record) => record !== undefined)
      .sort((left, right) => this.#rankOf(left) - this.#rankOf(right));
  }

  #readSessions(): ReadonlyMap<string, WorkspaceSessionRecord> {
    const sessions = new Map<string, WorkspaceSessionRecord>();
    for (const { content } of this.#ranked()) {
      if (content?.type !== "workspace_session") continue;
      const first = sessions.get(content.sessionId);
      sessions.set(
        content.sessionId,
        first === undefined ? content : { ...content, createdAt: first.createdAt, cwd: first.cwd },
      );
    }
    return sessions;
  }

  #readDevices(): ReadonlyMap<string, WorkspaceDeviceRecord> {
    const devices = new Map<string, WorkspaceDeviceRecord>();
    for (const { content } of this.#ranked())
      if (content?.type === "workspace_device") devices.set(content.deviceId, content);
    return devices;
  }
}

/** Equal for records that say the same. */
function toIdentity({ header, content }: ReadRecord): string {
  return JSON.stringify([header.id, header.type, content]);
}

/** Records come from holders of the workspace key, but maybe from a later version: what does not fit is left alone. */
function parseContent(json: string): ReadRecord["content"] {
  let value: { [field: string]: unknown } | null;
  try {
    value = JSON.parse(json) as { [field: string]: unknown } | null;
  } catch {
    // Authentic, yet no JSON: some other program's record. Unknown like any other kind.
    return undefined;
  }
  if (value === null || typeof value !== "object") return undefined;
  const isText = (...fields: string[]): boolean => fields.every((field) => typeof value[field] === "string");
  const isOptionalText = (...fields: string[]): boolean =>
    fields.every((field) => value[field] === undefined || typeof value[field] === "string");
  if (
    value.type === "workspace_session" &&
    isText("sessionId", "createdAt", "cwd", "keyId") &&
    isOptionalText("name", "key")
  )
    return value as unknown as WorkspaceSessionRecord;
  if (value.type === "workspace_device" && isText("deviceId", "name") && isOptionalText("person"))
    return value as unknown as WorkspaceDeviceRecord;
  return undefined;
}
