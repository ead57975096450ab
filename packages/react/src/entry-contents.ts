import type { SessionChangeKind, SessionNode, SharedSession } from "@coppice/client";
import { parseEntryJson, type SessionEntry, SessionError } from "@coppice/core";
import type { ChangeFeed } from "./change-feed.ts";

/** The content of an entry, opened for a component that shows it. */
export type EntryContent =
  | { readonly state: "loading" }
  /** `json` is the entry's exact text. Neither is to be changed. */
  | { readonly state: "ready"; readonly entry: SessionEntry; readonly json: string }
  /** It has not arrived, or what is here does not open; the reason is a sentence for people. */
  | { readonly state: "unreadable"; readonly reason: string };

interface Slot {
  readonly id: string;
  readonly listeners: Set<() => void>;
  /** What the content was read of. */
  node: SessionNode | undefined;
  content: EntryContent;
}

const loading: EntryContent = Object.freeze({ state: "loading" });

/** How long contents are opened in one go, in ms: half a frame of a screen. */
const sliceMs = 8;
/** JSON text kept of entries that nobody shows any more, in bytes: some screens of a long transcript, to scroll back to. */
const maxKeptBytes = 4 * 1024 * 1024;

/**
 * Opens the contents of entries for whoever shows them, some at a time with turns for other work between, and tells all
 * who wait for those of one turn together. What is no longer asked for is not opened. SPEC RE20 to RE23.
 */
export class EntryContents {
  readonly #session: Pick<SharedSession, "tree" | "storage">;
  readonly #feed: ChangeFeed<SessionChangeKind>;
  /** Those without listeners in the order in which they lost the last one. */
  readonly #slots = new Map<string, Slot>();
  readonly #queue = new Set<Slot>();
  #keptBytes = 0;
  #shownCount = 0;
  #isLoading = false;
  #stopFeed: (() => void) | undefined;

  constructor(session: Pick<SharedSession, "tree" | "storage">, feed: ChangeFeed<SessionChangeKind>) {
    this.#session = session;
    this.#feed = feed;
  }

  get(id: string): EntryContent {
    return this.#slots.get(id)?.content ?? loading;
  }

  /** Wants an entry's content until the returned function is called; the listener hears when it is another one. */
  subscribe(id: string, listener: () => void): () => void {
    const slot = this.#slots.get(id) ?? { id, listeners: new Set(), node: undefined, content: loading };
    if (slot.listeners.size === 0) this.#show(slot);
    const call = (): void => listener();
    slot.listeners.add(call);
    return () => {
      if (slot.listeners.delete(call) && slot.listeners.size === 0) this.#hide(slot);
    };
  }

  #show(slot: Slot): void {
    if (this.#slots.has(slot.id)) this.#keptBytes -= sizeOf(slot);
    this.#slots.set(slot.id, slot);
    this.#shownCount++;
    this.#stopFeed ??= this.#feed.subscribe(["entries"], () => this.#lookAgain());
    this.#look(slot);
  }

  #hide(slot: Slot): void {
    this.#shownCount--;
    this.#queue.delete(slot);
    this.#slots.delete(slot.id);
    if (slot.content.state === "ready") {
      this.#slots.set(slot.id, slot);
      this.#keptBytes += sizeOf(slot);
      this.#forgetOldest();
    }
    if (this.#shownCount > 0) return;
    this.#stopFeed?.();
    this.#stopFeed = undefined;
  }

  #forgetOldest(): void {
    for (const [id, slot] of this.#slots) {
      if (this.#keptBytes <= maxKeptBytes) return;
      if (slot.listeners.size > 0) continue;
      this.#keptBytes -= sizeOf(slot);
      this.#slots.delete(id);
    }
  }

  /** The tree is another one: an entry may have come, or another of its records be the one that is shown. */
  #lookAgain(): void {
    for (const slot of this.#slots.values()) if (slot.listeners.size > 0) this.#look(slot);
  }

  #look(slot: Slot): void {
    const node = this.#session.tree.get(slot.id);
    if (node === slot.node && slot.content !== loading && node !== undefined) return;
    this.#queue.add(slot);
    if (this.#isLoading) return;
    this.#isLoading = true;
    void this.#load();
  }

  async #load(): Promise<void> {
    try {
      // The components that are mounted together ask in one turn.
      await Promise.resolve();
      while (this.#queue.size > 0) {
        await this.#loadSlice();
        if (this.#queue.size > 0) await new Promise((resolve) => setTimeout(resolve, 0));
      }
    } finally {
      this.#isLoading = false;
    }
  }

  async #loadSlice(): Promise<void> {
    const changed: Slot[] = [];
    const endMs = performance.now() + sliceMs;
    for (const slot of this.#queue) {
      this.#queue.delete(slot);
      if (await this.#loadOne(slot)) changed.push(slot);
      if (performance.now() >= endMs) break;
    }
    for (const slot of changed) for (const listener of [...slot.listeners]) listener();
  }

  /** True when the content is another one now. */
  async #loadOne(slot: Slot): Promise<boolean> {
    const node = this.#session.tree.get(slot.id);
    const content = await this.#open(slot.id, node);
    // It may have been let go of meanwhile, and then be nobody's.
    if (slot.listeners.size === 0) return false;
    slot.node = node;
    if (isSame(content, slot.content)) return false;
    slot.content = content;
    return true;
  }

  async #open(id: string, node: SessionNode | undefined): Promise<EntryContent> {
    if (node === undefined) return unreadable(`Entry ${id} has not arrived on this device yet.`);
    try {
      const json = await this.#session.storage.getEntryJson(id);
      if (json === undefined) return unreadable(`Entry ${id} has not arrived on this device yet.`);
      const parsed = parseEntryJson(json);
      if (!parsed.ok) return unreadable(`Entry ${id} is no entry: ${parsed.error.message}.`);
      if (parsed.value.id !== id || parsed.value.type !== node.type)
        return unreadable(`The content of entry ${id} is that of another one.`);
      return { state: "ready", entry: parsed.value, json };
    } catch (error) {
      // A payload that does not open says why; the entry keeps its place in the tree.
      if (error instanceof SessionError) return unreadable(error.message);
      throw error;
    }
  }
}

function isSame(left: EntryContent, right: EntryContent): boolean {
  if (left.state === "ready") return right.state === "ready" && left.json === right.json;
  return left.state === right.state && (left.state !== "unreadable" || left.reason === (right as typeof left).reason);
}

function unreadable(reason: string): EntryContent {
  return { state: "unreadable", reason };
}

function sizeOf({ content, node }: Slot): number {
  return content.state === "ready" ? (node?.jsonBytes ?? 0) : 0;
}
