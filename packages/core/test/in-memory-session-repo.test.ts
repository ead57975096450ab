import { beforeEach, describe, expect, test } from "vitest";
import { InMemorySessionRepo, type Session } from "../src/index.ts";

let repo: InMemorySessionRepo;
let nowMs: number;

beforeEach(() => {
  nowMs = 1_000;
  repo = new InMemorySessionRepo({ now: () => nowMs });
});

async function idsOf(session: Session): Promise<string[]> {
  return (await session.getEntries()).map((entry) => entry.id);
}

describe("InMemorySessionRepo", () => {
  test("[SE18] a created session can be opened and listed, newest first, until it is deleted", async () => {
    const first = await repo.create({ id: "first", cwd: "/work", metadata: { a: 1 } });
    nowMs = 2_000;
    const second = await (await repo.create()).getMetadata();
    const firstMetadata = await first.getMetadata();
    expect(firstMetadata).toEqual({
      id: "first",
      createdAt: "1970-01-01T00:00:01.000Z",
      cwd: "/work",
      metadata: { a: 1 },
    });
    expect(await repo.list()).toEqual([second, firstMetadata]);
    expect(await repo.open({ id: "first" })).toBe(first);
    await repo.delete({ id: "first" });
    await repo.delete({ id: "first" });
    expect(await repo.list()).toEqual([second]);
    await expect(repo.open({ id: "first" })).rejects.toMatchObject({ code: "not_found" });
  });

  test("[SE18] an id that is taken is refused, so that no session is replaced unseen", async () => {
    await repo.create({ id: "s" });
    await expect(repo.create({ id: "s" })).rejects.toMatchObject({ code: "invalid_session" });
  });

  test("[SE19] a fork takes the whole log, the branch to an entry, or the branch before a user message", async () => {
    const source = await repo.create({ id: "s" });
    const u1 = await source.appendMessage({ role: "user" });
    const a1 = await source.appendMessage({ role: "assistant" });
    await source.moveTo(u1);
    const u2 = await source.appendMessage({ role: "user" });
    const all = await idsOf(source);

    const whole = await repo.fork({ id: "s" }, { id: "whole" });
    expect(await idsOf(whole)).toEqual(all);
    expect(await whole.getLeafId()).toBe(u2);
    expect(await idsOf(await repo.fork({ id: "s" }, { entryId: a1, position: "at" }))).toEqual([u1, a1]);
    expect(await idsOf(await repo.fork({ id: "s" }, { entryId: u2 }))).toEqual([u1]);
    expect(await idsOf(await repo.fork({ id: "s" }, { entryId: u1, position: "before" }))).toEqual([]);
    await whole.appendMessage({ role: "user" });
    expect(await idsOf(source)).toEqual(all);
  });

  test("[SE19] entries of a fork keep their ids and exact texts", async () => {
    const source = await repo.create({ id: "s" });
    const text = '{ "type":"message","id":"m","parentId":"","timestamp":"t","message":{"role":"user","n":1.0} }';
    await source.getStorage().appendJson([text]);
    const fork = await repo.fork({ id: "s" }, { entryId: "m", position: "at" });
    expect(await fork.getStorage().getEntryJson("m")).toBe(text);
    expect(await idsOf(await repo.fork({ id: "s" }, { entryId: "m" }))).toEqual([]);
  });

  test("[SE19] a fork target that is unknown or no user message is refused, as is an unknown source", async () => {
    const source = await repo.create({ id: "s" });
    const a1 = await source.appendMessage({ role: "assistant" });
    for (const entryId of ["nowhere", a1]) {
      await expect(repo.fork({ id: "s" }, { entryId })).rejects.toMatchObject({ code: "invalid_fork_target" });
    }
    await expect(repo.fork({ id: "no" })).rejects.toMatchObject({ code: "not_found" });
    expect(await repo.list()).toHaveLength(1);
  });
});
