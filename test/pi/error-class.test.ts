import { SessionError, type SessionStorage, withErrorClass } from "@coppice/core";
import { YjsSessionStorage } from "@coppice/storage-yjs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createStorage, storageKinds } from "./coppice-storages.ts";
import { generations, pi } from "./pi-packages.ts";

async function openStorage(kind: string): Promise<SessionStorage> {
  const place = await createStorage(kind);
  onTestFinished(() => place.close());
  return place.storage;
}

/** What a call rejects with. */
async function rejectionOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.each(generations)("a storage that rejects as pi-agent-core %s does", (generation) => {
  const PiSessionError = pi[generation].core.SessionError;

  it.each(storageKinds)("[PI4] %s rejects with pi's class, the code and message, and the cause", async (kind) => {
    const storage = withErrorClass(await openStorage(kind), PiSessionError);
    const error = await rejectionOf(storage.setLeafId("nobody"));
    expect(error).toBeInstanceOf(PiSessionError);
    expect(error).toMatchObject({ code: "not_found", message: "Entry nobody not found" });
    expect((error as Error).cause).toBeInstanceOf(SessionError);
  });

  it("[PI4] a code that pi does not know becomes storage, and the cause tells which", async () => {
    const storage = withErrorClass(await openStorage("memory"), PiSessionError);
    await storage.close();
    expect(await rejectionOf(storage.setLeafId(null))).toMatchObject({
      code: "storage",
      message: "The session storage is closed",
      cause: { code: "closed" },
    });
  });

  it("[PI4] an error of another class passes as it is", async () => {
    const storage = await openStorage("memory");
    const mistake = new TypeError("a mistake of the caller");
    storage.getEntries = () => Promise.reject(mistake);
    expect(await rejectionOf(withErrorClass(storage, PiSessionError).getEntries())).toBe(mistake);
  });
});

it("[PI4] what a storage has beyond the contract is there too", async () => {
  const storage = await openStorage("yjs");
  if (!(storage instanceof YjsSessionStorage)) throw new Error("The example's storage is another class");
  const wrapped = withErrorClass(storage, pi["0.80"].core.SessionError);
  await wrapped.appendJson(['{"type":"custom","id":"a","parentId":null,"timestamp":"2026-01-02","customType":"note"}']);
  expect(wrapped.getHeaderJson()).toBe(storage.getHeaderJson());
  expect(wrapped.getAuthor("a")).toBe("laptop");
  expect(wrapped.isWaiting).toBe(false);
});
