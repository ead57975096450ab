import { type SessionEntry, SessionError } from "@coppice/core";
import { labelOf, nameOf, pathOf, readIndex, shownNodes, tipsOf, waitingOf } from "@coppice/testkit";
import { expect } from "vitest";
import * as Y from "yjs";
import { deriveRoomKeys } from "../../src/room-keys.ts";
import { YjsSessionStorage } from "../../src/yjs-session-storage.ts";
import { headerText, testKey } from "../helpers.ts";
import { message, sessionId } from "../replica.ts";
import { newcomerLeafOf, type OracleLog, type OracleNode, RecordOracle } from "./record-oracle.ts";
import { SimulatedDevice } from "./simulated-device.ts";
import { splitUpdate } from "./split-update.ts";
import type { Start, Step } from "./steps.ts";

/** A file that any device may import: whole, or lines from its middle whose parents are elsewhere. */
const fileEntries = Array.from({ length: 6 }, (_, index) =>
  message(`file${index}`, index === 0 ? null : `file${index - 1}`),
);

/** What runs have done, for a test that they did something at all. */
export interface SimulationCounts {
  entries: number;
  moves: number;
  imports: number;
  duplicateRecords: number;
  forks: number;
  disconnects: number;
  restarts: number;
  /** Restarts on a merged log whose entries had arrived in another order than they stand in: the merged log does not tell. */
  restartsOnMixedMerge: number;
  crashes: number;
  entriesLostUnsaved: number;
  splitUpdates: number;
  heldBackUpdates: number;
  waitingEntries: number;
  refusedUnsynced: number;
  newcomers: number;
  snapshotsRead: number;
}

export function createCounts(): SimulationCounts {
  return {
    entries: 0,
    moves: 0,
    imports: 0,
    duplicateRecords: 0,
    forks: 0,
    disconnects: 0,
    restarts: 0,
    restartsOnMixedMerge: 0,
    crashes: 0,
    entriesLostUnsaved: 0,
    splitUpdates: 0,
    heldBackUpdates: 0,
    waitingEntries: 0,
    refusedUnsynced: 0,
    newcomers: 0,
    snapshotsRead: 0,
  };
}

interface Fork {
  readonly storage: YjsSessionStorage;
  readonly texts: readonly string[];
}

/** Several devices with one session, a network between them that does everything but alter, and what must be true. */
export class Simulation {
  readonly #devices: SimulatedDevice[] = [];
  readonly #oracle: RecordOracle;
  readonly #isSealed: boolean;
  readonly #counts: SimulationCounts;
  readonly #textById = new Map<string, string>();
  /** Entries whose writer did not know their parent: they may stand before it. */
  readonly #orphanIds = new Set<string>();
  readonly #forks: Fork[] = [];
  #lastNumber = 0;

  private constructor(start: Start, counts: SimulationCounts) {
    const keys = start.isSealed ? deriveRoomKeys(testKey(), sessionId) : undefined;
    this.#isSealed = start.isSealed;
    this.#counts = counts;
    this.#oracle = new RecordOracle(sessionId, keys);
    for (let index = 0; index < start.devices; index++) {
      const createId = (): string => `${this.#newNumber()}-by-${index}`;
      this.#devices.push(
        new SimulatedDevice(`device-${index}`, { sessionId, keys }, createId, {
          isSynced: index < start.founders,
          isIndexKept: start.isIndexKept,
        }),
      );
    }
  }

  /** The founders share a session of one entry; the others have yet to attach. */
  static async begin(start: Start, counts: SimulationCounts): Promise<Simulation> {
    const simulation = new Simulation(start, counts);
    const devices = simulation.#devices;
    for (const device of devices) await device.open(simulation.#newClientId(0));
    const founders = devices.slice(0, start.founders);
    const [first] = founders as [SimulatedDevice];
    await first.storage.create(headerText(sessionId));
    await simulation.#append(first, message("root", null));
    for (const device of founders.slice(1)) {
      device.receive(Y.encodeStateAsUpdate(first.doc));
      device.flush();
      device.remember({ leafId: "root" });
    }
    for (const device of founders) await simulation.#connect(device);
    return simulation;
  }

  async take(step: Step): Promise<void> {
    const device = this.#devices[step.at % this.#devices.length] as SimulatedDevice;
    if (!device.isSynced && !["connect", "disconnect", "restart", "crash", "deliver"].includes(step.kind)) {
      return this.#expectRefusal(device);
    }
    await this.#run(device, step);
    if (device.isOnline) for (const update of device.takeUnsent()) this.#broadcast(device, update);
    if (device.storage.isWaiting) this.#counts.heldBackUpdates++;
    this.#counts.waitingEntries += device.storage.getWaiting().length;
    await this.#expectSound(device);
    this.#expectOwnLeaves();
  }

  /** Brings everybody everything, and checks that all are equal: now, and once more after all have restarted. */
  async heal(): Promise<void> {
    await this.#syncAll();
    const importer = this.#devices.find(({ storage }) => storage.getWaiting().length > 0);
    if (importer !== undefined) await this.#import(importer, fileEntries);
    await this.#syncAll();
    await this.#expectEqual();
    for (const device of this.#devices) {
      await this.#restart(device, this.#lastNumber);
    }
    await this.#expectEqual();
    this.#counts.entries += this.#textById.size;
    const { nodes } = this.#oracle.read((this.#devices[0] as SimulatedDevice).doc);
    this.#counts.duplicateRecords += nodes.length - shownNodes(nodes).length;
    for (const { storage, snapshotsRead } of this.#devices) {
      await storage.close();
      this.#counts.snapshotsRead += snapshotsRead;
    }
  }

  async #run(device: SimulatedDevice, step: Step): Promise<void> {
    const { storage } = device;
    const log = this.#oracle.read(device.doc);
    const picked = (): string => shownNodes(log.nodes)[step.pick % shownNodes(log.nodes).length]?.id ?? "root";
    const id = `e${this.#newNumber()}`;
    const base = { id, parentId: device.leafId ?? null, timestamp: "2026-01-02T00:00:00.000Z" };
    switch (step.kind) {
      case "append":
        return this.#append(device, message(id, base.parentId, `${step.pick}`.repeat(step.pick % 20)));
      case "append-elsewhere":
        return this.#append(device, message(id, picked()));
      case "append-undurable":
        return this.#appendUndurable(device, message(id, base.parentId));
      case "die-appending":
        await this.#appendUndurable(device, message(id, base.parentId));
        return this.#crash(device, step.pick);
      case "branch":
        await this.#move(device, picked());
        return this.#append(device, message(id, device.leafId ?? null));
      case "move":
        return this.#move(device, picked());
      case "move-to-root":
        return this.#move(device, null);
      case "label": {
        const label = step.pick % 6 === 0 ? " " : `label ${step.pick % 5}`;
        return this.#append(device, { ...base, type: "label", targetId: picked(), label });
      }
      case "rename":
        return this.#append(device, { ...base, type: "session_info", name: `name ${step.pick % 5}` });
      case "import":
        this.#counts.imports++;
        return this.#import(device, fileEntries.slice(step.from, step.from + step.count));
      case "fork":
        return this.#fork(storage, picked());
      case "connect":
        return this.#connect(device);
      case "disconnect":
        if (device.isOnline) this.#counts.disconnects++;
        device.isOnline = false;
        device.inbox = [];
        return;
      case "restart":
        this.#counts.restarts++;
        return this.#restart(device, step.pick);
      case "crash":
        return this.#crash(device, step.pick);
      case "compact":
        return device.compact();
      case "deliver":
        for (let left = step.count; left > 0; left--) this.#deliver(device, step.how, step.pick + left);
        return;
    }
  }

  async #append(device: SimulatedDevice, entry: SessionEntry): Promise<void> {
    this.#noteOrphan(device, entry);
    this.#textById.set(entry.id, JSON.stringify(entry));
    await device.storage.appendEntry(entry);
    device.remember({ ids: [entry.id], leafId: entry.id });
  }

  /** The disk fails in the middle: the entry is in the document, on no disk, and the caller is told. */
  async #appendUndurable(device: SimulatedDevice, entry: SessionEntry): Promise<void> {
    device.isDiskFailing = true;
    this.#textById.set(entry.id, JSON.stringify(entry));
    expect(await codeOf(device.storage.appendEntry(entry))).toBe("storage");
    device.isDiskFailing = false;
    device.remember({ ids: [entry.id], leafId: entry.id });
  }

  /** Stopped and started again with nothing lost: everything has arrived in the order in which it had arrived before. */
  async #restart(device: SimulatedDevice, pick: number): Promise<void> {
    const arrivedIds = await device.readArrivedIds();
    if (this.#hasMixedMerge(device, arrivedIds)) this.#counts.restartsOnMixedMerge++;
    await device.close();
    await device.open(this.#newClientId(pick));
    expect(await device.readArrivedIds(), `order of arrival at ${device.deviceId}`).toEqual(arrivedIds);
  }

  /** Whether entries of the device's merged log arrived in another order than the one it gives them. */
  #hasMixedMerge({ mergedUpdate }: SimulatedDevice, arrivedIds: readonly string[]): boolean {
    if (mergedUpdate === undefined) return false;
    const doc = new Y.Doc();
    Y.applyUpdate(doc, mergedUpdate);
    const mergedIds = new Set(this.#oracle.read(doc).nodes.map(({ id }) => id));
    const inOrderOfArrival = arrivedIds.filter((id) => mergedIds.has(id));
    return [...mergedIds].some((id, position) => id !== inOrderOfArrival[position]);
  }

  /** What was not flushed is partly gone: the first few updates may have reached the disk. */
  async #crash(device: SimulatedDevice, pick: number): Promise<void> {
    this.#counts.crashes++;
    this.#counts.entriesLostUnsaved += await device.crash(pick % (device.undurableCount + 1));
    await device.open(this.#newClientId(pick));
  }

  async #move(device: SimulatedDevice, targetId: string | null): Promise<void> {
    this.#counts.moves++;
    await device.storage.setLeafId(targetId);
    const moves = await device.storage.findEntries("leaf");
    const known = new Set(this.#textById.keys());
    const [move, ...others] = moves.filter(({ id }) => !known.has(id));
    expect(others).toEqual([]);
    expect(move).toMatchObject({ type: "leaf", targetId, parentId: device.leafId });
    if (move === undefined) return;
    this.#textById.set(move.id, JSON.stringify(move));
    device.remember({ ids: [move.id], leafId: targetId });
  }

  async #import(device: SimulatedDevice, entries: readonly SessionEntry[]): Promise<void> {
    const shown = new Set(this.#oracle.read(device.doc).nodes.map(({ id }) => id));
    const fresh = entries.filter(({ id }) => !shown.has(id));
    for (const entry of entries) {
      const text = JSON.stringify(entry);
      this.#textById.set(entry.id, text);
    }
    const [first] = fresh;
    if (first !== undefined) this.#noteOrphan(device, first);
    const written = await device.storage.appendJson(entries.map((entry) => JSON.stringify(entry)));
    expect(written).toEqual(fresh.map(({ id }) => id));
    const last = written.at(-1);
    if (last !== undefined) device.remember({ ids: written, leafId: last });
  }

  /** A new session with the exact texts of a path; it must stay as it was, whatever becomes of its source. */
  async #fork(source: YjsSessionStorage, id: string): Promise<void> {
    const path = await source.getPathToRoot(id).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "invalid_session" });
      return [];
    });
    const texts = await Promise.all(path.map((entry) => source.getEntryJson(entry.id)));
    const forkId = `fork-${this.#newNumber()}`;
    const keys = this.#isSealed ? deriveRoomKeys(testKey(), forkId) : undefined;
    const doc = new Y.Doc();
    doc.clientID = this.#newClientId(this.#lastNumber);
    const storage = await YjsSessionStorage.open({ doc, sessionId: forkId, keys, deviceId: "device-0", synced: true });
    await storage.create(headerText(forkId));
    await storage.appendJson(texts as string[]);
    this.#forks.push({ storage, texts: texts as string[] });
    this.#counts.forks++;
  }

  /** Both ways with everybody who is online, by what each lacks; a device that has never had a complete sync waits for it. */
  async #connect(device: SimulatedDevice): Promise<void> {
    device.isOnline = true;
    device.flush();
    const peers = this.#devices.filter((other) => other.isOnline && other !== device);
    for (const peer of peers) {
      peer.flush();
      device.inbox.push(missingFrom(peer, device));
      peer.inbox.push(missingFrom(device, peer));
    }
    if (device.isSynced || !peers.some(({ isSynced }) => isSynced)) return;
    for (const update of device.inbox.splice(0)) device.receive(update);
    device.flush();
    device.isSynced = true;
    device.storage.markSynced();
    device.remember({ leafId: newcomerLeafOf(this.#oracle.read(device.doc)) });
    this.#counts.newcomers++;
  }

  #deliver(device: SimulatedDevice, how: "once" | "again" | "split" | "lose", pick: number): void {
    const at = pick % Math.max(1, device.inbox.length);
    const update = device.inbox[at];
    if (update === undefined) return;
    if (how !== "again") device.inbox.splice(at, 1);
    if (how === "lose") return;
    const [first, ...rest] = how === "split" ? splitUpdate(update, pick) : [update];
    if (rest.length > 0) this.#counts.splitUpdates++;
    device.inbox.push(...rest);
    if (first !== undefined) device.receive(first);
  }

  #broadcast(from: SimulatedDevice, update: Uint8Array): void {
    for (const device of this.#devices) if (device.isOnline && device !== from) device.inbox.push(update);
  }

  async #syncAll(): Promise<void> {
    // In two rounds everybody has met everybody who had met everybody.
    for (let round = 0; round < 2; round++) {
      for (const device of this.#devices) await this.#connect(device);
      for (const device of this.#devices) for (const update of device.inbox.splice(0)) device.receive(update);
    }
  }

  async #expectRefusal(device: SimulatedDevice): Promise<void> {
    const recordCount = device.doc.getArray("entries").length;
    expect(await codeOf(device.storage.appendEntry(message("early", null)))).toBe("not_synced");
    expect(await codeOf(device.storage.setLeafId(null))).toBe("not_synced");
    expect(device.doc.getArray("entries").length).toBe(recordCount);
    this.#counts.refusedUnsynced++;
  }

  /** Every device stands where its own work left it. */
  #expectOwnLeaves(): void {
    const found = this.#devices.map(({ storage }) => [storage.getDeviceLeaf(), storage.getReplicaLeaf()]);
    expect(found).toEqual(this.#devices.map(({ leafId = null }) => [leafId, leafId]));
  }

  /** What holds at every moment. */
  async #expectSound(device: SimulatedDevice): Promise<void> {
    const { storage } = device;
    const log = this.#oracle.read(device.doc);
    const shown = shownNodes(log.nodes);
    const entries = await storage.getEntries();
    expect(entries.map(({ id }) => id)).toEqual(shown.map(({ id }) => id));
    const ids = new Set(shown.map(({ id }) => id));
    expect({
      missing: device.ownIds.filter((id) => !ids.has(id)),
      altered: shown.filter(({ id, json }) => json !== this.#textById.get(id)),
      beforeTheirParent: this.#beforeTheirParent(shown),
    }).toEqual({ missing: [], altered: [], beforeTheirParent: [] });
    expect(storage.getWaiting()).toEqual(waitingOf(log.nodes));
    expect(storage.getUnreadable()).toEqual({ damaged: 0, newer: 0, foreign: 0, byProblem: {} });
    await expectLabelsAndName(storage, log);
    if (device.leafId === null || device.leafId === undefined) return;
    const path = await storage.getPathToRoot(device.leafId).then(
      (found) => found.map(({ id }) => id),
      (error: SessionError) => error.code,
    );
    expect(path).toEqual(pathOf(log.nodes, device.leafId));
  }

  /** Entries whose writer knew their parent and that stand before it. A parent that has not arrived is another matter. */
  #beforeTheirParent(shown: readonly OracleNode[]): string[] {
    const positions = new Map(shown.map(({ id }, position) => [id, position]));
    return shown
      .filter(({ parentId }, position) => (positions.get(parentId ?? "") ?? -1) > position)
      .map(({ id }) => id)
      .filter((id) => !this.#orphanIds.has(id));
  }

  /** What holds once everybody has everything. */
  async #expectEqual(): Promise<void> {
    this.#expectOwnLeaves();
    const [first] = this.#devices as [SimulatedDevice];
    const log = this.#oracle.read(first.doc);
    const index = await readIndex(first.storage);
    for (const device of this.#devices) {
      await this.#expectSound(device);
      expect(await device.storage.getLeafId()).toBe(device.leafId);
      expect(this.#oracle.read(device.doc)).toEqual(log);
      expect(await readIndex(device.storage)).toEqual(index);
      expect(await device.storage.getConflicts()).toEqual([]);
      expect(device.storage.getWaiting()).toEqual([]);
      expect(device.storage.isWaiting).toBe(false);
      for (const { id, deviceId } of shownNodes(log.nodes)) expect(device.storage.getAuthor(id)).toBe(deviceId);
    }
    expect(index.tipIds).toEqual(tipsOf(log.nodes));
    const written = new Set(["root", ...this.#devices.flatMap(({ ownIds }) => ownIds)]);
    expect(new Set(shownNodes(log.nodes).map(({ id }) => id))).toEqual(written);
    for (const { storage, texts } of this.#forks) {
      const ids = (await storage.getEntries()).map(({ id }) => id);
      expect(await Promise.all(ids.map((id) => storage.getEntryJson(id)))).toEqual(texts);
    }
  }

  #noteOrphan(device: SimulatedDevice, { id, parentId }: SessionEntry): void {
    const isKnown = this.#oracle.read(device.doc).nodes.some((node) => node.id === parentId);
    if (parentId !== null && !isKnown) this.#orphanIds.add(id);
  }

  #newNumber(): number {
    return this.#lastNumber++;
  }

  /** Chosen by the step instead of by Yjs, so that a seed gives the same log order again. */
  #newClientId(pick: number): number {
    return ((pick * 7_919) % 1_000) * 10_000 + this.#newNumber();
  }
}

async function expectLabelsAndName(storage: YjsSessionStorage, { nodes, recordCount }: OracleLog): Promise<void> {
  const targetIds = new Set(nodes.flatMap(({ type, targetId }) => (type === "label" && targetId ? [targetId] : [])));
  for (const id of targetIds) expect(await storage.getLabel(id)).toBe(labelOf(nodes, id, recordCount));
  expect(await storage.getSessionName()).toBe(nameOf(nodes, recordCount));
}

function missingFrom(from: SimulatedDevice, to: SimulatedDevice): Uint8Array {
  return Y.encodeStateAsUpdate(from.doc, Y.encodeStateVector(to.doc));
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const reason: unknown = await call.then(
    () => "resolved",
    (error: unknown) => error,
  );
  return reason instanceof SessionError ? reason.code : String(reason);
}
