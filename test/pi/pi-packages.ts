import { type SessionStorage, withErrorClass } from "@coppice/core";
import * as core80 from "pi-agent-core-0-80";
import * as core82 from "pi-agent-core-0-82";
import * as ai80 from "pi-ai-0-80";
import * as ai82 from "pi-ai-0-82";
import type { StoragePlace } from "./coppice-storages.ts";
import { type LockstepSession, Subject } from "./subject.ts";

/** The generations of pi whose sessions stand on a pluggable storage. */
export type Generation = "0.80" | "0.82";

/** pi's agent core and the pi-ai it goes with. What is used here of 0.82 has the shape it has in 0.80. */
export const pi: Readonly<Record<Generation, { readonly core: typeof core80; readonly ai: typeof ai80 }>> = {
  "0.80": { core: core80, ai: ai80 },
  "0.82": { core: core82 as unknown as typeof core80, ai: ai82 as unknown as typeof ai80 },
};

/** In the order in which they came out. */
export const generations: readonly Generation[] = ["0.80", "0.82"];

/** pi's session on its own storage in memory: what every other is measured by. */
export function createPiSubject(generation: Generation, metadata: { id: string; createdAt: string }): Subject {
  const { Session, InMemorySessionStorage } = pi[generation].core;
  const session = toLockstepSession(new Session(new InMemorySessionStorage({ metadata })));
  return new Subject("pi", session, async () => session);
}

/** pi's session on a Coppice storage, which rejects with pi's own error class. */
export function openPiSession(generation: Generation, storage: SessionStorage): LockstepSession {
  const { Session, SessionError } = pi[generation].core;
  // pi's types name the entries of their own version only; a Coppice storage keeps those of others too.
  return toLockstepSession(new Session(withErrorClass(storage, SessionError) as unknown as PiStorage));
}

/** A session on a Coppice storage, opened again by the same means. */
export function createCoppiceSubject(place: StoragePlace, open: (storage: SessionStorage) => LockstepSession): Subject {
  return new Subject("Coppice", open(place.storage), async () => open(await place.reopen()));
}

/** Any session as the tests call it: also with what its types would not let through. */
export function toLockstepSession(session: object): LockstepSession {
  return session as LockstepSession;
}

type PiStorage = ConstructorParameters<typeof core80.Session>[0];
