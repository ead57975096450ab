import assert from "node:assert/strict";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { deriveRoomKeys } from "@coppice/storage-yjs";
import { idOf, keyHex, type Lab, patientMs, untilTrue } from "./network-lab.ts";
import type { DeviceProcess } from "./processes.ts";
import { readRoom } from "./rooms-under-test.ts";

/** What was appended where, by session: the truth that devices and the relay are compared with. */
export class EntryLedger {
  readonly #idsBySession = new Map<string, string[]>();

  get sessionIds(): string[] {
    return [...this.#idsBySession.keys()];
  }

  get count(): number {
    return [...this.#idsBySession.values()].reduce((sum, ids) => sum + ids.length, 0);
  }

  /** A new session on a device. */
  async create(device: DeviceProcess, sessionId: string): Promise<void> {
    await device.ask("createSession", { sessionId });
    this.#idsBySession.set(sessionId, []);
  }

  /** A session that is deleted is looked for no more. */
  forget(sessionId: string): void {
    this.#idsBySession.delete(sessionId);
  }

  /** Appends messages, one when the other is on disk, and returns the id of the last one. */
  async append(device: DeviceProcess, sessionId: string, text: string, count = 1): Promise<string> {
    let id = "";
    for (let at = 0; at < count; at += 1) {
      id = await device.ask("append", { sessionId, text: `${text} ${at}` });
      this.#idsBySession.get(sessionId)?.push(id);
    }
    return id;
  }

  /** Appends messages without waiting for one before the next. */
  async appendAtOnce(device: DeviceProcess, sessionId: string, text: string, count: number): Promise<void> {
    const texts = Array.from({ length: count }, (_, at) => `${text} ${at}`);
    this.#idsBySession.get(sessionId)?.push(...(await device.ask("appendMany", { sessionId, texts })));
  }

  /** A label, of which the ledger learns by what the device has more than before. */
  async label(device: DeviceProcess, sessionId: string, entryId: string, label: string): Promise<void> {
    await this.#noteNew(device, sessionId, () => device.ask("label", { sessionId, entryId, label }));
  }

  /** Moves the device, which leaves an entry too. */
  async move(device: DeviceProcess, sessionId: string, entryId: string | null): Promise<void> {
    await this.#noteNew(device, sessionId, () => device.ask("move", { sessionId, entryId }));
  }

  /** Names a session, which leaves an entry in it. */
  async rename(device: DeviceProcess, sessionId: string, name: string): Promise<void> {
    await this.#noteNew(device, sessionId, () => device.ask("renameSession", { sessionId, name }));
  }

  async #noteNew(device: DeviceProcess, sessionId: string, act: () => Promise<unknown>): Promise<void> {
    const readIds = async (): Promise<string[]> => (await device.ask("snapshot", { sessionId })).lines.map(idOf);
    const before = new Set(await readIds());
    await act();
    const added = (await readIds()).filter((id) => !before.has(id) && !this.#idsBySession.get(sessionId)?.includes(id));
    // Others may write meanwhile; what they add is in the ledger already.
    assert.equal(added.length, 1, "one entry was added");
    this.#idsBySession.get(sessionId)?.push(...added);
  }

  /** Settles when every device has every session complete: each entry once, the same order everywhere. */
  async untilEverywhere(what: string, devices: readonly DeviceProcess[]): Promise<void> {
    for (const [sessionId, ids] of this.#idsBySession) {
      // At once: one of them may be the only one that can bring it.
      const attached = await Promise.all(
        devices.map((device) => device.ask("attach", { sessionId, timeoutMs: patientMs })),
      );
      assert.ok(!attached.includes(false), `${what}: ${sessionId} is on every device (${attached.join(", ")})`);
      let logs: string[][] = [];
      await untilTrue(`${what}: ${sessionId} complete on ${devices.length} devices`, async () => {
        logs = await Promise.all(
          devices.map(async (device) => (await device.ask("snapshot", { sessionId })).lines.map(idOf)),
        );
        return logs.every((log) => log.length >= ids.length);
      });
      for (const log of logs) {
        assert.deepEqual([...log].sort(), [...ids].sort(), `${what}: the entries of ${sessionId}, each once`);
        assert.deepEqual(log, logs[0], `${what}: the order of ${sessionId}`);
      }
      for (const device of devices)
        assert.ok(await device.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }), `${what}: nothing waits`);
    }
  }

  /** Compares the number of records a stopped relay keeps with the entries and the header of each session. */
  async assertRelayKeeps(what: string, dataDir: string): Promise<void> {
    for (const [sessionId, ids] of this.#idsBySession)
      assert.equal(
        await countRecords(dataDir, sessionId),
        ids.length + 1,
        `${what}: records of ${sessionId} at the relay`,
      );
  }

  /** A device that joins now and has nothing but the relay. */
  async assertNewcomerHasAll(what: string, lab: Lab, relayUrl: string): Promise<void> {
    const newcomer = await lab.startDevice({ name: `newcomer-${what.replaceAll(/\W+/g, "-")}`, relay: relayUrl });
    await this.untilEverywhere(`${what}, on a new device`, [newcomer]);
    await newcomer.stop();
  }
}

/** How many records of a session a relay that is not running keeps; its header is one of them. */
export async function countRecords(dataDir: string, sessionId: string): Promise<number> {
  const { roomId } = deriveRoomKeys(Uint8Array.from(Buffer.from(keyHex, "hex")), sessionId);
  const store = await openLmdbStore({ path: dataDir });
  try {
    return (await readRoom(store, roomId)).getArray("entries").length;
  } finally {
    await store.close();
  }
}
