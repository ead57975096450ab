import type { UpdateStore } from "@coppice/core";

/*
 * A deleted room leaves a value in the store. It is written first: once it is durable nobody is let into the room any
 * more, and a deletion that was interrupted is completed when the relay starts again.
 */

/** Names of rooms that can be deleted: those derived from a secret. */
const deletableName = /^[0-9a-f]{32}$/;

const tombstoneKey = (room: string): string => `deleted-room/${room}`;

/** Whether a room was deleted. */
export async function isDeleted(store: UpdateStore, room: string): Promise<boolean> {
  return deletableName.test(room) && (await store.readValue(tombstoneKey(room))) !== undefined;
}

/** Notes durably, and for good, that a room is deleted. Its log is not touched. */
export async function writeTombstone(store: UpdateStore, room: string): Promise<void> {
  await store.writeValue(tombstoneKey(room), new Uint8Array([1]));
}

/** Deletes the logs of deleted rooms, in case the relay ended before it got to it. Returns how many there were. */
export async function resumeDeletions(store: UpdateStore): Promise<number> {
  let count = 0;
  for (const room of await store.listLogs()) {
    if (!(await isDeleted(store, room))) continue;
    await store.deleteLog(room);
    count += 1;
  }
  return count;
}
