/** Something that has happened elsewhere, said once. */
export interface Announcement {
  readonly id: number;
  readonly text: string;
  /** What may be done about it. */
  readonly act?: { readonly name: string; readonly run: () => void };
  /** Stays until somebody has answered it. */
  readonly isLasting: boolean;
}

/** Long enough to be read twice. */
const shownMs = 10_000;

let announcements: readonly Announcement[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Shows and speaks a sentence, for ten seconds unless it lasts. Returns the function that takes it away. */
export function announce(text: string, options: Partial<Pick<Announcement, "act" | "isLasting">> = {}): () => void {
  const id = nextId++;
  const { isLasting = false, act } = options;
  const take = (): void => setAnnouncements(announcements.filter((known) => known.id !== id));
  setAnnouncements([...announcements, { id, text, isLasting, ...(act === undefined ? {} : { act }) }]);
  if (!isLasting) setTimeout(take, shownMs);
  return take;
}

/** What is to be shown now, the oldest first; the same array until it changes. */
export function getAnnouncements(): readonly Announcement[] {
  return announcements;
}

export function subscribeAnnouncements(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Takes one away. */
export function dismiss(id: number): void {
  setAnnouncements(announcements.filter((known) => known.id !== id));
}

function setAnnouncements(next: readonly Announcement[]): void {
  announcements = next;
  for (const listener of listeners) listener();
}

/** Says that something failed which nobody waits for. */
export function reportFailure(error: unknown): void {
  announce(error instanceof Error ? error.message : String(error));
}
