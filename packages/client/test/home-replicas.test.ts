import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionError, type UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CopyWatch } from "../src/copy-watch.ts";
import { HomeReplicas } from "../src/home-replicas.ts";

describe("HomeReplicas", () => {
  let folder: string;
  let store: UpdateStore;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "coppice-replicas-"));
    store = await openLmdbStore({ path: folder });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("[WS21] knows replicas that are open, have closed, or were killed, and no others", async () => {
    const first = await HomeReplicas.open(store, "first");
    expect(first.isOpen).toBe(true);
    const killed = await HomeReplicas.open(store, "killed");
    await first.close();
    const last = await HomeReplicas.open(store, "last");
    for (const id of ["first", "killed", "last"]) expect(await last.isRegistered(id)).toBe(true);
    expect(await killed.isRegistered("stranger")).toBe(false);
  });

  it("[WS21] forgets replicas that closed long ago, never one that is still open", async () => {
    await HomeReplicas.open(store, "stays");
    const closed = await HomeReplicas.open(store, "closed");
    await closed.close();
    for (let at = 0; at < 128; at++) await HomeReplicas.open(store, `r${at}`);
    const last = await HomeReplicas.open(store, "last");
    expect(await last.isRegistered("closed")).toBe(false);
    for (const id of ["stays", "r0", "last"]) expect(await last.isRegistered(id)).toBe(true);
  });

  it("[WS21] one that cannot be registered says so, and the home can still be read", async () => {
    const full: UpdateStore = Object.assign(Object.create(store), {
      readValue: (key: string) => store.readValue(key),
      writeValue: () => Promise.reject(new SessionError("storage_full", "The disk is full.")),
    });
    expect((await HomeReplicas.open(full, "first")).isOpen).toBe(false);
    expect(await (await HomeReplicas.open(store, "second")).isRegistered("first")).toBe(false);
  });
});

describe("CopyWatch", () => {
  /** A watch of replica `m`, with what it did. */
  function openWatch(registered: readonly string[] = []) {
    const state = { changes: 0, errors: [] as unknown[], failing: false };
    const watch = new CopyWatch({
      replicaId: "m",
      isRegistered: async (id) => {
        if (state.failing) throw new SessionError("storage", "The disk does not answer.");
        return registered.includes(id);
      },
      onCopy: async () => {
        state.changes++;
      },
      onError: (error) => state.errors.push(error),
      graceMs: 600_000,
    });
    return { watch, state };
  }

  it("[WS22] the one opened later goes at once, the first waits, a registered one is of this home", async () => {
    for (const [replicaId, changes] of [
      ["a", 1],
      ["z", 0],
      ["own", 0],
    ] as const) {
      const { watch, state } = openWatch(["own"]);
      await watch.check(replicaId, () => true);
      expect(state.changes).toBe(changes);
      watch.close();
    }
  });

  it("[WS22] a second replica of the other folder shows that it has not noticed", async () => {
    const { watch, state } = openWatch();
    await watch.check("x", () => true);
    await watch.check("x", () => true);
    expect(state.changes).toBe(0);
    await watch.check("z", () => true);
    expect(state.changes).toBe(1);
    watch.close();
  });

  it("[WS22] a cursor that is gone or has another device by then changes nothing", async () => {
    const { watch, state } = openWatch();
    await watch.check("a", () => false);
    expect(state.changes).toBe(0);
  });

  it("[WS22] a store that cannot be read is reported, and the replica is looked at again", async () => {
    const { watch, state } = openWatch();
    state.failing = true;
    await watch.check("a", () => true);
    expect(state.errors).toHaveLength(1);
    state.failing = false;
    await watch.check("a", () => true);
    expect(state.changes).toBe(1);
  });
});
