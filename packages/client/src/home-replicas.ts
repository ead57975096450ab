import { SessionError, type UpdateStore } from "@coppice/core";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";

/** Registrations of replicas that have closed are kept for so many openings: their last cursor may still be under way. */
const keptRegistrations = 128;

/** The first version was an array alone. */
const listFormat: DeviceValueFormat = { version: 2, what: "The list of this device's replicas" };
const listKey = "replicas";
const replicaKey = (replicaId: string): string => `replica/${replicaId}`;
const openState = Uint8Array.of(1);
const closedState = Uint8Array.of(0);

/**
 * The replicas of one home, in its store: each process registers its own before anybody can see its cursor. A cursor
 * with this device's id from a replica that never registered here therefore comes from another folder: a copy of this
 * one. Nothing here goes by a clock; what a crash leaves behind counts as registered, which is true. SPEC WS21.
 */
export class HomeReplicas {
  /** False when this replica could not be registered: it must not show itself. */
  readonly isOpen: boolean;
  readonly #store: UpdateStore;
  readonly #replicaId: string;

  private constructor(store: UpdateStore, replicaId: string, isOpen: boolean) {
    this.#store = store;
    this.#replicaId = replicaId;
    this.isOpen = isOpen;
  }

  /** Registers a replica; settles when that is durable, or known to fail: what is here can still be read then. */
  static async open(store: UpdateStore, replicaId: string): Promise<HomeReplicas> {
    try {
      await register(store, replicaId);
      return new HomeReplicas(store, replicaId, true);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return new HomeReplicas(store, replicaId, false);
    }
  }

  /** Whether a replica is, or lately was, one of this home. */
  async isRegistered(replicaId: string): Promise<boolean> {
    return (await this.#store.readValue(replicaKey(replicaId))) !== undefined;
  }

  /** Says that this replica has ended. */
  async close(): Promise<void> {
    await this.#store.writeValue(replicaKey(this.#replicaId), closedState);
  }
}

async function register(store: UpdateStore, replicaId: string): Promise<void> {
  // Two processes that open at once may each miss the other's line in the list: it only says what may be removed.
  const ids = [...parseList(await store.readValue(listKey)), replicaId];
  const kept = ids.slice(-keptRegistrations);
  const writes = [store.writeValue(replicaKey(replicaId), openState)];
  for (const id of ids.slice(0, -keptRegistrations)) {
    const state = await store.readValue(replicaKey(id));
    if (state?.[0] === closedState[0]) writes.push(store.writeValue(replicaKey(id), undefined));
    // One that stays open for long must be known as long.
    else if (state !== undefined) kept.unshift(id);
  }
  writes.push(store.writeValue(listKey, encodeDeviceValue(listFormat, { ids: kept })));
  await Promise.all(writes);
}

/** A value that is none is a list lost, and costs only the tidying up. Throws `version_mismatch`. */
function parseList(bytes: Uint8Array | undefined): string[] {
  const value = decodeDeviceValue(listFormat, bytes);
  const ids: unknown = Array.isArray(value) ? value : value?.ids;
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}
