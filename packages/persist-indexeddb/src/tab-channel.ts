import { createUuidV7 } from "@coppice/core";
import { publish, subscribe, unsubscribe } from "lib0/broadcastchannel";

/** What one store tells the others over the same data. */
export type TabNews =
  | { readonly kind: "appended"; readonly log: string; readonly lastSeq: number }
  | { readonly kind: "emptied"; readonly log: string }
  /** A value, or derived data. */
  | { readonly kind: "changed" };

const newsVersion = 1;

/** Without channels between tabs: how often to look, in ms. */
const pollIntervalMs = 1_000;

/** What a channel calls. */
export interface TabChannelEvents {
  /** Another store, in this page or in another tab, has written. */
  news(news: TabNews): void;
  /** Something may have been missed: look. */
  check(): void;
}

/**
 * Carries news between the stores over the same data, in all tabs: by BroadcastChannel, by events of localStorage where
 * a browser has no channels, and there by looking every second too. A tab that was frozen or put away looks when it
 * comes back.
 */
export class TabChannel {
  readonly #name: string;
  readonly #id = createUuidV7();
  readonly #events: TabChannelEvents;
  readonly #receive = (data: unknown): void => this.#take(data);
  readonly #wake = (): void => this.#events.check();
  #sent = 0;
  #pollTimer: ReturnType<typeof setInterval> | undefined;

  constructor(name: string, events: TabChannelEvents) {
    this.#name = name;
    this.#events = events;
    subscribe(name, this.#receive);
    for (const [target, type] of wakeEvents()) target.addEventListener(type, this.#wake);
    if (typeof BroadcastChannel === "undefined") this.#pollTimer = setInterval(this.#wake, pollIntervalMs);
  }

  tell(news: TabNews): void {
    // Counted, because localStorage says nothing when a text is written a second time. As bytes: lib0 wants them there.
    const text = JSON.stringify({ ...news, version: newsVersion, from: this.#id, number: this.#sent++ });
    try {
      publish(this.#name, new TextEncoder().encode(text));
    } catch (error) {
      // localStorage may be full or blocked; there, others look by themselves.
      if (this.#pollTimer === undefined) throw error;
    }
  }

  /** Safe to call twice. */
  close(): void {
    unsubscribe(this.#name, this.#receive);
    for (const [target, type] of wakeEvents()) target.removeEventListener(type, this.#wake);
    clearInterval(this.#pollTimer);
  }

  #take(data: unknown): void {
    const news = parseNews(data);
    if (news === undefined) this.#events.check();
    else if (news.from !== this.#id) this.#events.news(news);
  }
}

/** Undefined: what was sent is of another version of Coppice. */
function parseNews(data: unknown): (TabNews & { readonly from: unknown }) | undefined {
  try {
    const news = JSON.parse(new TextDecoder().decode(data as Uint8Array));
    if (news?.version !== newsVersion) return undefined;
    if (news.kind === "changed") return news;
    if (typeof news.log !== "string") return undefined;
    if (news.kind === "emptied" || (news.kind === "appended" && Number.isSafeInteger(news.lastSeq))) return news;
    return undefined;
  } catch {
    return undefined; // no JSON: as with another version, looking finds out what there is
  }
}

/** What a page hears when it comes back; none of it where there is no page. */
function wakeEvents(): [EventTarget, string][] {
  const { document, addEventListener } = globalThis as Partial<typeof globalThis>;
  if (document === undefined || addEventListener === undefined) return [];
  return [
    [document, "visibilitychange"],
    [document, "resume"],
    [globalThis as unknown as EventTarget, "pageshow"],
  ];
}
