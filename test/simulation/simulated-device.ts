import { openWorkspace, type SharedSession, type Workspace } from "@coppice/client";
import { type SessionEntry, SessionError } from "@coppice/core";
import type { SimulatedDisk, SimulatedNetwork } from "@coppice/testkit/simulation";
import { drawRandom } from "./determinism.ts";

/** What a device did, as its user would tell: an entry of this text, or a move to an entry. */
type LeafChange = { readonly text: string } | { readonly entryId: string | null };

/** One process of a device, from its start to its end. */
interface DeviceProcess {
  workspace?: Workspace;
  session?: SharedSession;
  isOpeningSession: boolean;
  isClosing: boolean;
  /** The leaf was compared with what the device did before this start. */
  isLeafChecked: boolean;
}

/** What all devices of a world share. */
export interface DeviceWorld {
  readonly network: SimulatedNetwork;
  readonly workspaceKey: Uint8Array;
  readonly sessionId: string;
  /** An append was resolved: it is on this device's disk. */
  readonly onResolved: (device: SimulatedDevice, entryId: string, text: string) => void;
  readonly onViolation: (message: string) => void;
}

/** A device: the real client on a simulated disk and network, and what its user knows of it. */
export class SimulatedDevice {
  readonly name: string;
  readonly disk: SimulatedDisk;
  /** Ids of entries whose append was resolved here. */
  readonly resolvedIds = new Set<string>();
  readonly #world: DeviceWorld;
  readonly #id: string;
  #process: DeviceProcess | undefined;
  /** What may be the leaf: the last change that was resolved, and those after it that may have become durable or not. */
  #leafChanges: LeafChange[] | undefined;
  #hasResolvedChange = false;
  #appendCount = 0;

  constructor(name: string, deviceNumber: number, disk: SimulatedDisk, world: DeviceWorld) {
    this.name = name;
    this.disk = disk;
    this.#world = world;
    this.#id = `00000000-0000-7000-8000-${String(deviceNumber).padStart(12, "0")}`;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  get workspace(): Workspace | undefined {
    return this.#process?.workspace;
  }

  /** The open session, when this device has a place in it. */
  get session(): SharedSession | undefined {
    const session = this.#process?.session;
    return session?.hasBeenFetched ? session : undefined;
  }

  start(): void {
    if (this.#process !== undefined) return;
    const process: DeviceProcess = { isOpeningSession: false, isClosing: false, isLeafChecked: false };
    this.#process = process;
    this.#open(process).catch((error: unknown) => this.#endAfter(process, error));
  }

  async #open(process: DeviceProcess): Promise<void> {
    const { network, workspaceKey } = this.#world;
    process.workspace = await openWorkspace({
      store: this.disk.open(),
      device: { id: this.#id, name: this.name },
      workspaceKey,
      relay: "ws://relay.test",
      webSocket: network.createWebSocketClass(this.name),
      random: drawRandom,
    });
  }

  /** Makes the session; the first device does it once. */
  async createSession(): Promise<void> {
    const process = this.#process;
    if (process?.workspace === undefined) throw new Error("The device is not running");
    process.session = await process.workspace.createSession({ id: this.#world.sessionId, cwd: "/work" });
  }

  /** Opens the session once it is listed; called after every step, as an app would on a change. */
  openSession(): void {
    const process = this.#process;
    if (process?.workspace === undefined || process.session !== undefined || process.isOpeningSession) return;
    if (process.isClosing || !process.workspace.listSessions().some(({ id }) => id === this.#world.sessionId)) return;
    process.isOpeningSession = true;
    process.workspace.openSession(this.#world.sessionId).then(
      (session) => {
        process.isOpeningSession = false;
        process.session = session;
      },
      (error: unknown) => {
        process.isOpeningSession = false;
        this.#requireSessionError(error);
      },
    );
  }

  /** `kill -9`. */
  crash(keepsCommit: boolean): void {
    this.#world.network.kill(this.name);
    this.disk.crash(keepsCommit);
    this.#process = undefined;
  }

  /** Ends the process in order; nothing is left to save afterwards. */
  close(): void {
    const process = this.#process;
    if (process?.workspace === undefined || process.isClosing) return;
    process.isClosing = true;
    process.workspace.close().then(
      () => this.#end(process),
      (error: unknown) => this.#endAfter(process, error),
    );
  }

  #endAfter(process: DeviceProcess, error: unknown): void {
    this.#requireSessionError(error);
    this.#end(process);
  }

  #end(process: DeviceProcess): void {
    if (this.#process === process) this.crash(false);
  }

  /** Disks fail in simulations, and then calls reject with the code that says so; anything else is a fault. */
  #requireSessionError(error: unknown): void {
    if (!(error instanceof SessionError) || !["storage", "storage_full", "closed"].includes(error.code))
      this.#world.onViolation(`${this.name}: ${String(error)}`);
  }

  get #mayWrite(): boolean {
    return this.#process?.isLeafChecked === true && !this.#process.isClosing;
  }

  /** Appends an entry, not waiting for it; a device that is off or has no place in the session does nothing. */
  append(text: (count: number) => string): void {
    const session = this.session;
    if (session === undefined || !this.#mayWrite) return;
    this.#appendCount += 1;
    const content = text(this.#appendCount);
    const change: LeafChange = { text: content };
    this.#change(change, session.session.appendMessage({ role: "user", content }), (entryId) => {
      this.resolvedIds.add(entryId as string);
      this.#world.onResolved(this, entryId as string, content);
    });
  }

  async move(pick: number): Promise<void> {
    const session = this.session;
    if (session === undefined || !this.#mayWrite) return;
    const entries = (await session.storage.getEntries()).filter(({ type }) => type === "message");
    const target = entries[pick % Math.max(1, entries.length)];
    if (target === undefined) return;
    this.#change({ entryId: target.id }, session.session.moveTo(target.id), () => {});
  }

  #change(change: LeafChange, made: Promise<unknown>, onResolved: (value: unknown) => void): void {
    this.#leafChanges?.push(change);
    const changes = this.#leafChanges;
    made.then(
      (value) => {
        this.#hasResolvedChange = true;
        const at = changes?.indexOf(change) ?? -1;
        if (at > 0) changes?.splice(0, at);
        onResolved(value);
      },
      (error: unknown) => this.#requireSessionError(error),
    );
  }

  /** Compares the leaf with what this device did: nobody else may have moved it. */
  async checkLeaf(): Promise<void> {
    const process = this.#process;
    const session = this.session;
    if (process === undefined || session === undefined) return;
    const leafId = await session.storage.getLeafId();
    const leaf = leafId === null ? undefined : await session.storage.getEntry(leafId);
    if (this.#process !== process) return;
    const changes = this.#leafChanges;
    // A device that did nothing yet takes its place anew when it was killed, and when the first entry of all comes.
    const hasPlace = process.isLeafChecked && changes?.some((change) => "text" in change || change.entryId !== null);
    if (changes !== undefined && (this.#hasResolvedChange || hasPlace)) {
      if (!changes.some((change) => isLeafOf(change, leafId, leaf)))
        this.#world.onViolation(`${this.name}'s leaf was moved to ${leafId} (${textOf(leaf)})`);
    } else this.#leafChanges = [{ entryId: leafId }];
    if (!process.isLeafChecked) {
      process.isLeafChecked = true;
      this.#leafChanges = [{ entryId: leafId }];
    }
  }
}

function isLeafOf(change: LeafChange, leafId: string | null, leaf: SessionEntry | undefined): boolean {
  return "text" in change ? textOf(leaf) === change.text : change.entryId === leafId;
}

/** The text of a message that a simulated device wrote. */
export function textOf(entry: SessionEntry | undefined): string | undefined {
  const { message } = (entry ?? {}) as { message?: { content?: unknown } };
  return typeof message?.content === "string" ? message.content : undefined;
}
