import { createUuidV7, type UpdateStore } from "@coppice/core";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";
import type { DeviceIdentity } from "./workspace-types.ts";

/** Who writes in this home, and the ids it had before it turned out to be a copy, newest first. */
export interface HomeIdentity {
  readonly device: DeviceIdentity;
  readonly formerIds: readonly string[];
}

/** More often than a folder is copied; a circle in what is stored ends there too. */
const maxCopies = 64;

const nameFormat: DeviceValueFormat = { version: 1, what: "The name of this device" };

const successorFormat: DeviceValueFormat = { version: 2, what: "The id that this copied device has taken" };

const successorKey = (deviceId: string): string => `device-after/${deviceId}`;
const nameKey = (deviceId: string): string => `device-name/${deviceId}`;

/** The identity in force: the one given, or what its home has taken since; with the name it was given last. */
export async function readHomeIdentity(store: UpdateStore, given: DeviceIdentity): Promise<HomeIdentity> {
  const ids = [given.id];
  while (ids.length <= maxCopies) {
    const next = await readSuccessor(store, ids.at(-1) ?? "");
    if (next === undefined || ids.includes(next)) break;
    ids.push(next);
  }
  const names = await Promise.all(ids.map((id) => readName(store, id)));
  return toIdentity(given, ids, names);
}

/** Gives the device another name, which counts before the one it was opened with; settles when that is durable. */
export async function renameIdentity(
  store: UpdateStore,
  { device, formerIds }: HomeIdentity,
  name: string,
): Promise<HomeIdentity> {
  await store.writeValue(nameKey(device.id), encodeDeviceValue(nameFormat, { name }));
  return { device: { ...device, name }, formerIds };
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
    await store.writeValue(successorKey(id), encodeDeviceValue(successorFormat, { deviceId: createUuidV7() }));
  return readHomeIdentity(store, given);
}

async function readSuccessor(store: UpdateStore, deviceId: string): Promise<string | undefined> {
  const bytes = await store.readValue(successorKey(deviceId));
  if (bytes === undefined) return undefined;
  // The first version was the id alone.
  const text = new TextDecoder().decode(bytes);
  if (!text.startsWith("{")) return text;
  const id = decodeDeviceValue(successorFormat, bytes)?.deviceId;
  return typeof id === "string" ? id : undefined;
}

async function readName(store: UpdateStore, deviceId: string): Promise<string | undefined> {
  const name = decodeDeviceValue(nameFormat, await store.readValue(nameKey(deviceId)))?.name;
  return typeof name === "string" ? name : undefined;
}

/** `ids` from the given one to the present one, with the names they were given here; each copy since shows in the name. */
function toIdentity(
  given: DeviceIdentity,
  ids: readonly string[],
  names: readonly (string | undefined)[],
): HomeIdentity {
  const lastNamed = names.findLastIndex((name) => name !== undefined);
  const name = names[lastNamed] ?? given.name;
  const copies = ids.length - 1 - Math.max(0, lastNamed);
  const mark = copies === 0 ? "" : ` (${copies === 1 ? "copy" : `copy ${copies}`})`;
  return {
    device: { ...given, id: ids.at(-1) ?? given.id, name: `${name}${mark}` },
    formerIds: ids.slice(0, -1).reverse(),
  };
}
