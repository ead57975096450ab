import { type SessionEntry, SessionError, type SessionStorage } from "@coppice/core";
import { expect } from "vitest";

/** One session of the storage that is tested. */
export interface SessionStorageUnderTest {
  readonly storage: SessionStorage;
  /** Opens the same session anew from where it is kept; closes the storage opened before. */
  reopen(): Promise<SessionStorage>;
  /** Closes what is open and removes what was kept. */
  close(): Promise<void>;
}

/** Makes a new, empty session. */
export type SessionStorageFactory = () => Promise<SessionStorageUnderTest>;

/** Gives a test a new, empty session and removes it afterwards, also when the test fails. */
export async function withSession(
  factory: SessionStorageFactory,
  use: (session: SessionStorageUnderTest) => Promise<void>,
): Promise<void> {
  const session = await factory();
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

/** A user message as an entry. */
export function messageEntry(id: string, parentId: string | null, text: string = id): SessionEntry {
  const message = { role: "user", content: [{ type: "text", text }], timestamp: 1_767_225_600_000 };
  return { type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", message };
}

/** An entry of a kind nobody knows, with the fields given. */
export function unknownEntry(id: string, parentId: string | null, fields: Record<string, unknown> = {}): SessionEntry {
  return { type: "from_the_future", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", ...fields } as never;
}

/** The ids of entries, in their order. */
export function idsOf(entries: readonly { id: string }[]): string[] {
  return entries.map((entry) => entry.id);
}

/** The rejection of a call, after checking its class and code. */
export async function expectCode(call: Promise<unknown>, code: SessionError["code"]): Promise<SessionError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SessionError);
  expect((error as SessionError).code).toBe(code);
  return error as SessionError;
}
