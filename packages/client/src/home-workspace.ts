import { SessionError, type UpdateStore } from "@coppice/core";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";

const format: DeviceValueFormat = { version: 1, what: "This folder" };
const workspaceValueKey = "workspace";

/**
 * Checks that a store belongs to the workspace whose list is in this room, and notes it in a new one. Under another key
 * everything would be at another place: the workspace would seem empty, and new work would go where no device of it
 * looks. Rejects `wrong_key`, `version_mismatch`, or as the store does; nothing is changed then. SPEC WS45.
 */
export async function requireWorkspace(store: UpdateStore, roomId: string): Promise<void> {
  const noted = decodeDeviceValue(format, await store.readValue(workspaceValueKey));
  if (noted?.roomId === roomId) return;
  // A store of before this was noted has the log of its list.
  const logs = noted === undefined ? await store.listLogs() : [];
  if (noted !== undefined || (logs.length > 0 && !logs.includes(roomId)))
    throw new SessionError(
      "wrong_key",
      "This is not the key of the workspace that is kept here; open it with the pairing link of the device or of another one in the workspace. Nothing was changed.",
    );
  try {
    await store.writeValue(workspaceValueKey, encodeDeviceValue(format, { roomId }));
  } catch (error) {
    // What is here can be read though nothing can be written; the next opening notes it.
    if (!(error instanceof SessionError)) throw error;
  }
}
