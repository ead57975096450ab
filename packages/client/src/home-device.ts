import { SessionError, type UpdateStore } from "@coppice/core";
import { readDevicePublicKey } from "./device-keys.ts";
import { type HomeIdentity, readHomeIdentity, renameIdentity, takeNewIdentity } from "./home-identity.ts";
import type { WorkspaceLog } from "./workspace-log.ts";
import type { DeviceIdentity, WorkspaceDevice } from "./workspace-types.ts";

/** What is known of a device in its home. */
interface KnownDevice {
  readonly identity: HomeIdentity;
  /** Undefined while the store cannot be written. */
  readonly publicKey: string | undefined;
}

/** This device as its home has it, with the ids it had before, and what the workspace's list is to say of it. */
export class HomeDevice {
  readonly #store: UpdateStore;
  readonly #given: DeviceIdentity;
  #known: KnownDevice;

  /** Reads who writes in a home, and makes what a new one needs. Rejects with `version_mismatch`, or as the store. */
  static async open(store: UpdateStore, given: DeviceIdentity): Promise<HomeDevice> {
    const identity = await readHomeIdentity(store, given);
    return new HomeDevice(store, given, { identity, publicKey: await findPublicKey(store, identity.device.id) });
  }

  private constructor(store: UpdateStore, given: DeviceIdentity, known: KnownDevice) {
    this.#store = store;
    this.#given = given;
    this.#known = known;
  }

  /** The identity in force. */
  get identity(): DeviceIdentity {
    return this.#known.identity.device;
  }

  /** Ids it had before, newest first. */
  get formerIds(): readonly string[] {
    return this.#known.identity.formerIds;
  }

  /** Gives it another name; settles when that is durable. Blank: `invalid_entry`. */
  async rename(name: string): Promise<void> {
    const text = name.replace(/[\r\n]+/g, " ").trim();
    if (text === "") throw new SessionError("invalid_entry", "A device needs a name that is not blank.");
    this.#known = { ...this.#known, identity: await renameIdentity(this.#store, this.#known.identity, text) };
  }

  /** Another folder has its id: takes a new one, and a key pair of its own; settles when that is durable. */
  async takeNewId(): Promise<void> {
    const identity = await takeNewIdentity(this.#store, this.#given, this.#known.identity);
    this.#known = { identity, publicKey: await findPublicKey(this.#store, identity.device.id) };
  }

  /** Tells the list who this is, when it says something else or nothing. */
  introduce(log: WorkspaceLog): void {
    const { id, name, person } = this.identity;
    const listed = log.listing.devices.get(id);
    const publicKey = this.#known.publicKey ?? listed?.publicKey;
    if (listed?.name === name && listed.person === person && listed.publicKey === publicKey) return;
    log.append({
      type: "workspace_device",
      deviceId: id,
      name,
      ...(person === undefined ? {} : { person }),
      ...(publicKey === undefined ? {} : { publicKey }),
    });
  }

  /** The devices that a list knows, in the order in which they first wrote to it. */
  listDevices({ listing }: WorkspaceLog): WorkspaceDevice[] {
    return Array.from(listing.devices.values(), ({ deviceId, name, person, publicKey }) => ({
      id: deviceId,
      name,
      ...(person === undefined ? {} : { person }),
      ...(publicKey === undefined ? {} : { publicKey }),
      isThis: deviceId === this.identity.id,
      isFormer: this.formerIds.includes(deviceId),
    }));
  }
}

/** The key of a device; undefined where the store cannot be written: what is here can be read all the same. */
async function findPublicKey(store: UpdateStore, deviceId: string): Promise<string | undefined> {
  try {
    return await readDevicePublicKey(store, deviceId);
  } catch (error) {
    if (error instanceof SessionError && error.code !== "version_mismatch") return undefined;
    throw error;
  }
}
