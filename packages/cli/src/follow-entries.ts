import type { SharedSession, Workspace } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { mapInParallel } from "./in-parallel.ts";
import { openSessionsLimit } from "./open-home.ts";

/** What is told about sessions that are followed. */
export interface EntryListener {
  /** An entry has come, from this device or another; those of one session in the order in which they came. */
  onEntry(session: SharedSession, entry: SessionEntry): void;
  /** A session could not be opened; the others are followed all the same. */
  onProblem(sessionId: string, error: unknown): void;
}

/** Tells every entry that comes into an open session from now on. Returns the function that ends it. */
export function followSession(session: SharedSession, listener: Pick<EntryListener, "onEntry">): () => void {
  return session.storage.subscribe(({ added }) => {
    for (const entry of added) listener.onEntry(session, entry);
  });
}

/**
 * Opens every session of the workspace and tells every entry that comes into one of them once what the relay has now is
 * here, or after `relayWaitMs`; of a session that is listed only later, every entry. Settles when those listed now are
 * followed, with the function that ends it.
 */
export async function followAllSessions(
  workspace: Workspace,
  relayWaitMs: number,
  listener: EntryListener,
): Promise<() => void> {
  const stops: (() => void)[] = [];
  const known = new Set<string>();
  let isStopped = false;
  const keep = (stop: () => void): void => {
    if (isStopped) stop();
    else stops.push(stop);
  };
  const openAndFollow = async (sessionId: string, isListedNow: boolean): Promise<void> => {
    try {
      const session = await workspace.openSession(sessionId);
      if (isListedNow) {
        await session.waitUntilSynced(relayWaitMs);
        keep(followSession(session, listener));
      } else {
        keep(await followFromStart(session, listener));
      }
    } catch (error) {
      if (!isStopped) listener.onProblem(sessionId, error);
    }
  };
  const takeUnknownIds = (): string[] => {
    const ids = workspace.listSessions().flatMap(({ id }) => (known.has(id) ? [] : [id]));
    for (const id of ids) known.add(id);
    return ids;
  };
  const listedNow = takeUnknownIds();
  keep(
    workspace.subscribe((change) => {
      if (change === "sessions")
        void mapInParallel(takeUnknownIds(), openSessionsLimit, (id) => openAndFollow(id, false));
    }),
  );
  await mapInParallel(listedNow, openSessionsLimit, (id) => openAndFollow(id, true));
  return () => {
    isStopped = true;
    for (const stop of stops) stop();
  };
}

/** Tells every entry of a session, those that are here first. */
async function followFromStart(session: SharedSession, listener: EntryListener): Promise<() => void> {
  let early: SessionEntry[] | undefined = [];
  const stop = followSession(session, {
    onEntry: (from, entry) => {
      if (early === undefined) listener.onEntry(from, entry);
      else early.push(entry);
    },
  });
  const present = await session.storage.getEntries();
  const presentIds = new Set(present.map(({ id }) => id));
  for (const entry of present) listener.onEntry(session, entry);
  for (const entry of early) if (!presentIds.has(entry.id)) listener.onEntry(session, entry);
  early = undefined;
  return stop;
}
