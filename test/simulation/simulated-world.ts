import type { SessionEntry } from "@coppice/core";
import { deriveRoomKeys, RecordCodec } from "@coppice/storage-yjs";
import {
  type DiskImage,
  type SentMessage,
  type SimulatedConnection,
  SimulatedDisk,
  SimulatedNetwork,
  type VirtualTime,
} from "@coppice/testkit/simulation";
import { encodeFrame, parseFrame } from "@coppice/wire";
import { bool, int32, type PRNG } from "lib0/prng";
import * as Y from "yjs";
import { SimulatedDevice, textOf } from "./simulated-device.ts";
import { SimulatedRelay } from "./simulated-relay.ts";
import type { Direction, Scenario, Step } from "./steps.ts";
import { readStructs, StoredStructs } from "./stored-structs.ts";
import { WireWatch } from "./wire-watch.ts";
import { WrittenAgain } from "./written-again.ts";

const workspaceKey = new Uint8Array(32).fill(7);
const sessionId = "0195f0a0-0000-7000-8000-000000000001";
const sessionKeys = deriveRoomKeys(workspaceKey, sessionId);
const { roomId: sessionRoom } = sessionKeys;
/** Stands in every entry's text, so that it is found wherever something readable leaves a device. */
const readableWord = "quokka";
/** Client on the network that is nobody's device. */
const thief = "thief";
/** A replica gives way this often without complaint (SPEC CL42); more in one run would only repeat it. */
const maxTakenPlaces = 3;
const longText = "and so on ".repeat(100);

/** What happened in a world: a run in which nothing did proves nothing. */
export interface WorldCounts {
  entries: number;
  crashes: number;
  restores: number;
  takenPlaces: number;
  /** Records that were appended again because their places were taken. */
  givenWay: number;
  disconnects: number;
  gapRequests: number;
}

/** Counts of nothing yet. */
export function createCounts(): WorldCounts {
  return { entries: 0, crashes: 0, restores: 0, takenPlaces: 0, givenWay: 0, disconnects: 0, gapRequests: 0 };
}

/** What becomes of the next such message of a client. */
interface PlannedFate {
  readonly client: string;
  readonly direction: Direction;
  readonly what: "message" | "records";
  readonly fate: "lose" | "duplicate";
}

/** A disk, the world's account of it, and what is planned for it. */
interface DiskUnderTest {
  readonly disk: SimulatedDisk;
  readonly stored: StoredStructs;
  commitMs: number;
  /** Commits until it crashes; undefined: it does not. */
  crashIn: { commits: number; isDurable: boolean } | undefined;
  crash(keepsCommit: boolean): void;
}

/**
 * One relay and some devices in virtual time, what happens to them, and what must be true of them (SPEC SM). Violations
 * are collected with the moment they were seen; `check` throws the first.
 */
export class SimulatedWorld {
  readonly counts: WorldCounts = createCounts();
  /** Every message, with its time and a sum of its bytes. */
  readonly trace: string[] = [];
  readonly #startedMs: number = performance.now();
  readonly #time: VirtualTime;
  readonly #choices: PRNG;
  readonly #network: SimulatedNetwork;
  readonly #relay: SimulatedRelay;
  readonly #devices: SimulatedDevice[] = [];
  /** The devices' in their order, then the relay's. */
  readonly #deviceDisks: DiskUnderTest[] = [];
  readonly #relayDisk: DiskUnderTest;
  readonly #watch: WireWatch;
  /** Texts by id of what must not be lost: appends that were resolved, and entries another device has seen. */
  readonly #kept = new Map<string, string>();
  /** Records (`room/client:clock`) that were durable at the relay at some time. */
  readonly #onceAtRelay = new Set<string>();
  readonly #writtenAgain = new WrittenAgain(sessionRoom, new RecordCodec({ sessionId, keys: sessionKeys }));
  readonly #fates: PlannedFate[] = [];
  /** Messages with records of the session that were sent, by client. */
  readonly #sentByClient = new Map<string, Uint8Array[]>();
  /** Which of them are sent again when a client connects. */
  readonly #replays: { client: string; pick: number }[] = [];
  readonly #greeted = new WeakSet<SimulatedConnection>();
  readonly #violations: string[] = [];
  #backup: DiskImage | undefined;
  #isCalm = true;

  constructor(
    { seed, devices }: Pick<Scenario, "seed" | "devices">,
    time: VirtualTime,
    createChoices: (seed: number) => PRNG,
  ) {
    this.#time = time;
    this.#choices = createChoices(seed);
    this.#network = new SimulatedNetwork({
      latencyMs: () => (this.#isCalm ? 5 : int32(this.#choices, 1, 120)),
      onMessage: (message) => {
        this.trace.push(describeMessage(message, performance.now() - this.#startedMs));
        this.#watch.read(message);
        this.#replayBefore(message);
        const at = this.#fates.findIndex((planned) => concerns(planned, message));
        return at < 0 ? "deliver" : (this.#fates.splice(at, 1)[0]?.fate ?? "deliver");
      },
    });
    this.#relayDisk = this.#createDisk((keepsCommit) => this.#crashRelay(keepsCommit));
    this.#relay = new SimulatedRelay(this.#network, this.#relayDisk.disk, (message) => {
      if (!message.includes("simulated disk")) this.#violate(`The relay reports: ${message}`);
    });
    this.#watch = new WireWatch({
      atRelay: this.#relayDisk.stored,
      atDevice: (client) => (client === thief ? undefined : this.#diskOf(client).stored),
      onViolation: (message) => this.#violate(message),
    });
    for (let i = 0; i < devices; i += 1) this.#addDevice();
  }

  /** Starts everything; the first device makes the session, and all get it. */
  async begin(): Promise<void> {
    this.#relay.start();
    for (const device of this.#devices) device.start();
    await this.#passUntil(5_000, () => this.#devices.every(({ workspace }) => workspace !== undefined), "all are open");
    let isCreated = false;
    const creating = this.#devices[0]?.createSession().then(() => {
      isCreated = true;
    });
    await this.#passUntil(5_000, () => isCreated, "the session is made");
    await creating;
    await this.#passUntil(
      5_000,
      () => this.#devices.every(({ session }) => session !== undefined),
      "all have the session",
    );
    this.#isCalm = false;
  }

  /** Does one step, lets its time pass and checks what must always be true. */
  async take(step: Step): Promise<void> {
    await this.#act(step);
    await this.#time.advance(step.thenMs);
    await this.check();
  }

  async #act(step: Step): Promise<void> {
    switch (step.kind) {
      case "append":
        this.#appendSeveral(this.#device(step.device), step);
        return;
      case "move":
        return this.#device(step.device).move(step.pick);
      case "start":
        this.#device(step.device).start();
        return;
      case "close":
        this.#device(step.device).close();
        return;
      case "crash":
        this.#disk(step.disk).crash(step.keepsCommit);
        return;
      case "crash at commit":
        this.#disk(step.disk).crashIn = { commits: step.commits, isDurable: step.isDurable };
        return;
      case "start relay":
        this.#relay.start();
        return;
      case "stop relay":
        this.#relay.stop().catch((error: unknown) => this.#violate(`The relay did not stop: ${String(error)}`));
        return;
      case "back up":
        this.#backup = this.#relayDisk.disk.backUp();
        return;
      case "restore":
      case "wipe":
        if (step.kind === "wipe") this.#restoreRelay({ logs: new Map(), values: new Map() });
        else if (this.#backup !== undefined) this.#restoreRelay(this.#backup);
        if (step.restarts !== undefined) this.#restartAndWrite(this.#device(step.restarts));
        return;
      case "offline":
      case "online":
        if (step.kind === "offline") this.counts.disconnects += 1;
        this.#network.setOnline(this.#device(step.device).name, step.kind === "online");
        return;
      case "cut":
        this.counts.disconnects += 1;
        this.#network.cut(this.#device(step.device).name, step.how);
        return;
      case "stall":
        for (const connection of this.#network.connections)
          if (connection.client === this.#device(step.device).name) connection[step.direction].stall(step.ms);
        return;
      case "lose":
      case "duplicate":
        this.#fates.push({
          client: this.#device(step.device).name,
          direction: step.direction,
          what: step.what,
          fate: step.kind,
        });
        return;
      case "take place":
        this.#takePlace(this.#device(step.device), step.delayMs);
        return;
      case "replay":
        this.#replays.push({ client: this.#device(step.device).name, pick: step.pick });
        return;
      case "slow disk":
        this.#disk(step.disk).commitMs = step.commitMs;
        return;
      case "faulty disk": {
        const { faults } = this.#disk(step.disk).disk;
        faults[step.fault] = true;
        setTimeout(() => {
          faults[step.fault] = false;
        }, step.ms);
        return;
      }
      default:
        step satisfies never;
    }
  }

  /** What must be true at every moment. Throws the first violation since the beginning. */
  async check(): Promise<void> {
    for (const device of this.#devices) {
      device.openSession();
      await device.checkLeaf();
      await this.#checkEntries(device);
      this.#checkStatus(device);
    }
    this.counts.gapRequests = this.#watch.gapRequests;
    if (this.#violations.length > 0) throw new Error(this.#violations.slice(0, 5).join("\n"));
  }

  async #checkEntries(device: SimulatedDevice): Promise<void> {
    const session = device.session;
    if (session === undefined) return;
    const entries = await session.storage.getEntries();
    const positions = new Map(entries.map(({ id }, at) => [id, at]));
    for (const [at, { id, parentId }] of entries.entries()) {
      if (parentId === null || (positions.get(parentId) ?? -1) <= at) continue;
      if (!this.#writtenAgain.mayPrecedeParent(id, parentId))
        this.#violate(`${device.name} has entry ${id} before its parent`);
    }
    for (const entry of entries) {
      const isForeign = !this.#isByDevice(entry, device);
      const text = textOf(entry);
      if (isForeign && text !== undefined) this.#kept.set(entry.id, text);
    }
    for (const id of device.resolvedIds)
      if (!positions.has(id)) this.#violate(`${device.name} lost its own entry ${id} (${this.#kept.get(id)})`);
  }

  #isByDevice(entry: SessionEntry, device: SimulatedDevice): boolean {
    return textOf(entry)?.startsWith(`${device.name} `) ?? true;
  }

  #checkStatus(device: SimulatedDevice): void {
    const status = device.session?.status();
    if (status === undefined) return;
    if (status.relay.state === "refused")
      this.#violate(`${device.name} was refused: ${status.relay.code} ${status.relay.reason}`);
    if (status.setAside !== undefined) {
      this.counts.givenWay = Math.max(this.counts.givenWay, status.setAside.restored);
      if (this.counts.takenPlaces === 0) this.#violate(`${device.name} gave way though nobody took a place`);
    }
    // Records that give way are unsaved at their new places while they still stand in the log at the old ones.
    if (status.pending > 0 || status.unsaved > 0) return;
    const isLive = [...this.#network.connections].some(
      ({ client, path, isAlive }) => isAlive && client === device.name && path === `/${sessionRoom}`,
    );
    const isSaidToBeThere = status.relay.state === "live" && isLive;
    const atRelay = new Set(this.#relayDisk.stored.keys(sessionRoom));
    for (const key of this.#diskOf(device.name).stored.keys(sessionRoom)) {
      if (!this.#onceAtRelay.has(`${sessionRoom}/${key}`))
        this.#violate(`${device.name} counts ${key} as at the relay, which never had it`);
      else if (isSaidToBeThere && !atRelay.has(key))
        this.#violate(`${device.name} counts ${key} as at the relay, which lost it`);
    }
  }

  /** Ends all trouble, waits until everybody is in step, and checks what must be true then. */
  async heal(): Promise<void> {
    this.#fates.length = 0;
    this.#replays.length = 0;
    for (const { disk } of this.#allDisks()) Object.assign(disk.faults, { isFull: false, isUnreadable: false });
    for (const each of this.#allDisks()) {
      each.crashIn = undefined;
      each.commitMs = 2;
    }
    this.#relay.start();
    for (const { name } of this.#devices) this.#network.setOnline(name, true);
    await this.#passUntil(90_000, () => this.#isInStep(), "all are in step after everything works again");
    this.#isCalm = true;
    await this.#checkKept();
    await this.#checkPromptness();
    await this.#checkConvergence();
    this.#checkRelayLog();
    this.#checkNothingReadable();
    await this.check();
  }

  /** On a network that works nothing needs a second try: what is appended, here or offline, is everywhere soon. */
  async #checkPromptness(): Promise<void> {
    for (const device of this.#devices) this.#append(device, false);
    await this.#passUntil(2_500, () => this.#isInStep(), "new entries are acknowledged and everywhere");
    for (const device of this.#devices) {
      this.#network.cut(device.name, "reset");
      this.#append(device, false);
    }
    await this.#passUntil(4_000, () => this.#isInStep(), "entries made offline are acknowledged and everywhere");
    this.#addDevice().start();
    await this.#passUntil(6_000, () => this.#isInStep(), "a new device has everything");
  }

  #isInStep(): boolean {
    // One that was being stopped when all trouble ended is started again as well.
    this.#relay.start();
    for (const device of this.#devices) {
      device.start();
      device.openSession();
    }
    const vector = [...this.#relayDisk.stored.keys(sessionRoom)].length;
    return this.#devices.every((device) => {
      const { session, workspace } = device;
      if (session === undefined || workspace === undefined) return false;
      const isThere = [session.status(), workspace.status()].every(
        ({ relay, pending, unsaved }) => relay.state === "live" && pending === 0 && unsaved === 0,
      );
      return isThere && [...this.#diskOf(device.name).stored.keys(sessionRoom)].length === vector;
    });
  }

  async #checkKept(): Promise<void> {
    for (const device of this.#devices) {
      for (const [id, text] of this.#kept) {
        const entry = await device.session?.storage.getEntry(id);
        if (textOf(entry) !== text) this.#violate(`${device.name} does not have "${text}" but "${textOf(entry)}"`);
      }
    }
  }

  async #checkConvergence(): Promise<void> {
    const [first, ...others] = await Promise.all(this.#devices.map(readAll));
    for (const [at, other] of others.entries())
      if (other !== first)
        this.#violate(`${this.#devices[at + 1]?.name} does not show what ${this.#devices[0]?.name} shows`);
  }

  /** Any Yjs document can take the relay's log, update by update, and never has to wait for a later one. */
  #checkRelayLog(): void {
    for (const log of this.#relayDisk.disk.logNames()) {
      const doc = new Y.Doc();
      for (const { seq, update } of this.#relayDisk.disk.updatesOf(log)) {
        Y.applyUpdate(doc, update);
        if (doc.store.pendingStructs !== null) {
          this.#violate(`Update ${seq} of the relay's log ${log} stands before what it needs`);
          return;
        }
      }
      const held = [...this.#relayDisk.stored.keys(log)].length;
      if (doc.getArray("entries").length !== held)
        this.#violate(`The relay's log ${log} does not have ${held} records`);
    }
  }

  #checkNothingReadable(): void {
    for (const bytes of this.#relayDisk.disk.contents())
      if (Buffer.from(bytes).includes(readableWord)) this.#violate("A word of an entry stands readable at the relay");
  }

  #append(device: SimulatedDevice, isLong: boolean): void {
    device.append((count) => `${device.name} ${count} ${readableWord}${isLong ? longText : ""}`);
  }

  #appendSeveral(device: SimulatedDevice, step: Extract<Step, { kind: "append" }>): void {
    const { count, everyMs, isLong, losesFirst } = step;
    if (losesFirst) this.#fates.push({ client: device.name, direction: "toServer", what: "records", fate: "lose" });
    for (let i = 0; i < count; i += 1) {
      if (everyMs === 0 || i === 0) this.#append(device, isLong);
      else setTimeout(() => this.#append(device, isLong), i * everyMs);
    }
  }

  /** Notes what is sent, and puts what a planned replay names on the line before a connection's first message. */
  #replayBefore({ connection, from, bytes }: SentMessage): void {
    const { client, path } = connection;
    if (from !== "client" || path !== `/${sessionRoom}`) return;
    const sent = this.#sentByClient.get(client) ?? [];
    this.#sentByClient.set(client, sent);
    // An answer that there is nothing to send has eight bytes at most.
    if (hasRecords(bytes) && bytes.length > 8) sent.push(bytes);
    if (this.#greeted.has(connection)) return;
    this.#greeted.add(connection);
    for (let at = this.#replays.findIndex((planned) => planned.client === client); at >= 0; ) {
      const { pick } = this.#replays.splice(at, 1)[0] as { pick: number };
      const again = sent[pick % Math.max(1, sent.length)];
      if (again !== undefined && this.#isStillHeld(client, again)) connection.sendFromClient(again);
      at = this.#replays.findIndex((planned) => planned.client === client);
    }
  }

  /** Records that have given way to others' are gone here; to send them again would be to insist. */
  #isStillHeld(client: string, message: Uint8Array): boolean {
    const frame = parseFrame(message);
    if (!frame.ok || !("update" in frame.value)) return false;
    return readStructs(frame.value.update).every((struct) => this.#diskOf(client).stored.has(sessionRoom, struct));
  }

  /** The device writes at the same time, and is held up for a while, so that the other one's record is first. */
  #takePlace(device: SimulatedDevice, delayMs: number): void {
    const { name } = device;
    const frame = parseFrame(this.#sentByClient.get(name)?.at(-1) ?? Uint8Array.of());
    if (!this.#relay.isRunning || !frame.ok || !("update" in frame.value)) return;
    const last = readStructs(frame.value.update).at(-1);
    if (last === undefined || this.counts.takenPlaces >= maxTakenPlaces) return;
    const doc = new Y.Doc();
    for (const { update } of this.#relayDisk.disk.updatesOf(sessionRoom)) Y.applyUpdate(doc, update);
    const known = Y.encodeStateVector(doc);
    doc.clientID = last.client;
    doc.getArray("entries").push([Uint8Array.of(1, 2, 3)]);
    const update = Y.encodeStateAsUpdate(doc, known);
    for (const connection of this.#network.connections) {
      if (connection.client !== name) continue;
      connection.toServer.stall(delayMs);
      connection.toClient.stall(delayMs);
    }
    this.#append(device, false);
    const socket = new (this.#network.createWebSocketClass(thief))(`ws://relay.test/${sessionRoom}`);
    socket.onopen = () => {
      this.counts.takenPlaces += 1;
      socket.send(encodeFrame({ type: "update", update }) as Uint8Array<ArrayBuffer>);
      setTimeout(() => socket.close(), 1_000);
    };
  }

  /** A new process has a new Yjs client id, and what it writes stands on records that the relay may have lost. */
  #restartAndWrite(device: SimulatedDevice): void {
    for (const { name } of this.#devices)
      for (let i = 0; i < 3; i += 1) this.#replays.push({ client: name, pick: int32(this.#choices, 0, 1_000) });
    device.crash(false);
    device.start();
    for (let ms = 60; ms < 1_600; ms += 60) {
      setTimeout(async () => {
        device.openSession();
        await device.checkLeaf();
        this.#append(device, false);
      }, ms);
    }
  }

  async #passUntil(maxMs: number, isReached: () => boolean, what: string): Promise<void> {
    for (let ms = 0; ms < maxMs; ms += 100) {
      if (isReached()) return this.check();
      await this.#time.advance(100);
      if (ms % 1_000 === 0) await this.check();
    }
    if (isReached()) return;
    const states = this.#devices.map(
      ({ name, session, workspace }) =>
        `${name}: ${JSON.stringify(session?.status())} ${JSON.stringify(workspace?.status())}`,
    );
    throw new Error([`Not within ${maxMs} ms: ${what}`, ...states].join("\n"));
  }

  #addDevice(): SimulatedDevice {
    const name = `device${this.#devices.length}`;
    const under = this.#createDisk((keepsCommit) => {
      if (device.isRunning) this.counts.crashes += 1;
      device.crash(keepsCommit);
    });
    const device = new SimulatedDevice(name, this.#devices.length, under.disk, {
      network: this.#network,
      workspaceKey,
      sessionId,
      onResolved: (_device, id, text) => {
        this.counts.entries += 1;
        this.#kept.set(id, text);
      },
      onViolation: (message) => this.#violate(message),
    });
    this.#writtenAgain.follow(under.disk, under.stored);
    this.#devices.push(device);
    this.#deviceDisks.push(under);
    return device;
  }

  #createDisk(crash: (keepsCommit: boolean) => void): DiskUnderTest {
    const stored = new StoredStructs();
    const disk = new SimulatedDisk({
      commitMs: () => under.commitMs,
      readMs: () => (this.#isCalm ? 0 : int32(this.#choices, 0, 15)),
    });
    const under: DiskUnderTest = { disk, stored, commitMs: 2, crashIn: undefined, crash };
    disk.onDurable = (log, updates) => {
      for (const each of updates) {
        const unfounded = under === this.#relayDisk ? stored.findUnfounded(log, each.update) : undefined;
        if (unfounded !== undefined) this.#violate(`The relay stored record ${unfounded} before what it stands on`);
        stored.add(log, [each]);
      }
      if (under === this.#relayDisk) for (const key of stored.keys(log)) this.#onceAtRelay.add(`${log}/${key}`);
    };
    disk.onReplaced = (log) => stored.reset(log, disk.updatesOf(log));
    disk.onCommit = (phase) => {
      const { crashIn } = under;
      if (crashIn === undefined || (phase === "after") !== crashIn.isDurable) return;
      if (crashIn.commits > 0) crashIn.commits -= 1;
      else {
        under.crashIn = undefined;
        // Before: the commit is lost, whether or not its bytes had reached the disk.
        under.crash(phase === "before" && bool(this.#choices));
      }
    };
    return under;
  }

  #crashRelay(keepsCommit: boolean): void {
    if (!this.#relay.isRunning) return;
    this.counts.crashes += 1;
    this.#relay.crash(keepsCommit);
    this.#checkRelayLog();
  }

  #restoreRelay(image: DiskImage): void {
    this.#relay.crash(false);
    this.counts.restores += 1;
    this.#relayDisk.disk.restore(image);
    const { disk, stored } = this.#relayDisk;
    stored.clear();
    for (const log of disk.logNames()) stored.add(log, disk.updatesOf(log));
    this.#relay.start();
  }

  #device(at: number): SimulatedDevice {
    return this.#devices[at % this.#devices.length] as SimulatedDevice;
  }

  #disk(at: number): DiskUnderTest {
    return this.#allDisks()[at % this.#allDisks().length] as DiskUnderTest;
  }

  #allDisks(): DiskUnderTest[] {
    return [...this.#deviceDisks, this.#relayDisk];
  }

  #diskOf(client: string): DiskUnderTest {
    return this.#deviceDisks[this.#devices.findIndex(({ name }) => name === client)] as DiskUnderTest;
  }

  #violate(message: string): void {
    this.#violations.push(`at ${new Date().toISOString().slice(14, 23)} ${message}`);
  }
}

function describeMessage({ connection, from, bytes }: SentMessage, ms: number): string {
  return `${ms} ${connection.client} ${connection.path} from ${from}: ${bytes.length} bytes, sum ${sumOf(bytes)}`;
}

/** FNV-1a: enough to tell two messages apart. */
function sumOf(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum;
}

function concerns({ client, direction, what }: PlannedFate, { connection, from, bytes }: SentMessage): boolean {
  if (client !== connection.client || (direction === "toServer") !== (from === "client")) return false;
  return what === "message" || hasRecords(bytes);
}

/** Whether a message is a SyncStep2 or an update. */
function hasRecords(bytes: Uint8Array): boolean {
  return bytes[0] === 0 && bytes[1] !== 0;
}

/** All a device shows of the session, as one text: entries with their bytes in log order, children, tips. */
async function readAll({ session }: SimulatedDevice): Promise<string> {
  if (session === undefined) return "no session";
  const { storage } = session;
  const entries = await storage.getEntries();
  const texts = await Promise.all(entries.map(({ id }) => storage.getEntryJson(id)));
  const children = await Promise.all(
    [null, ...entries.map(({ id }) => id)].map(async (id) => (await storage.getChildren(id)).map((child) => child.id)),
  );
  const tips = (await storage.getTips()).map(({ id }) => id);
  return JSON.stringify({ header: storage.getHeaderJson?.(), texts, children, tips });
}
