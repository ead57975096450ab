import { createUuidV7, type UpdateStore } from "@coppice/core";
import type { DeviceIdentity } from "./workspace-types.ts";

/** Who writes in this home, and the ids it had before it turned out to be a copy, newest first. */
export interface HomeIdentity {
  readonly device: DeviceIdentity;
  readonly formerIds: readonly string[];
}

/** More often than a folder is copied; a circle in what is stored ends there too. */
const maxCopies = 64;

const successorKey = (deviceId: string): string => `device-after/${deviceId}`;

/** The identity in force: the one given, or what its home has taken since. */
export async function readHomeIdentity(store: UpdateStore, given: DeviceIdentity): Promise<HomeIdentity> {
  const ids = [given.id];
  while (ids.length <= maxCopies) {
    const next = await readSuccessor(store, ids.at(-1) ?? "");
    if (next === undefined || ids.includes(next)) break;
    ids.push(next);
  }
  return toIdentity(given, ids);
}

/**
 * Takes a new id for this home, because another has the present one; settles when that is durable. When another process
 * of the home has done so already, its choice is taken.
 */
export async function takeNewIdentity(
  store: UpdateStore,
  given: DeviceIdentity,
  present: HomeIdentity,
): Promise<HomeIdentity> {
  const { id } = present.device;
  if ((await readSuccessor(store, id)) === undefined)
    await store.writeValue(successorKey(id), new TextEncoder().encode(createUuidV7()));
  return readHomeIdentity(store, given);
}

async function readSuccessor(store: UpdateStore, deviceId: string): Promise<string | undefined> {
  const bytes = await store.readValue(successorKey(deviceId));
  return bytes && new TextDecoder().decode(bytes);
}

/** `ids` from the given one to the present one; each copy shows in the name. */
function toIdentity(given: DeviceIdentity, ids: readonly string[]): HomeIdentity {
  const copies = ids.length - 1;
  if (copies === 0) return { device: given, formerIds: [] };
  const name = `${given.name} (${copies === 1 ? "copy" : `copy ${copies}`})`;
  return { device: { ...given, id: ids.at(-1) ?? given.id, name }, formerIds: ids.slice(0, -1).reverse() };
}
