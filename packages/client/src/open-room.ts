import type { RoomKeys } from "@coppice/storage-yjs";
import { Replica } from "./replica.ts";
import type { TokenGate } from "./token-gate.ts";
import type { OpenWorkspaceOptions } from "./workspace-types.ts";

/** Value of this device in the store, per room. */
const arrivalsKey = (roomId: string): string => `arrivals/${roomId}`;

/** Opens the replica of a room with all that this device keeps of it; nothing is sent before its `connect`. */
export async function openRoom(options: OpenWorkspaceOptions, tokenGate: TokenGate, room: RoomKeys): Promise<Replica> {
  return Replica.open({
    log: await options.store.openLog(room.roomId),
    roomId: room.roomId,
    arrivals: {
      read: () => options.store.readValue(arrivalsKey(room.roomId)),
      write: (arrivals) => options.store.writeValue(arrivalsKey(room.roomId), arrivals),
    },
    values: options.store,
    relay: options.relay,
    webSocket: options.webSocket,
    sha256: options.crypto?.sha256,
    timings: options.timings,
    tokenGate,
    random: options.random,
    endWaitsWhenUnreachable: options.endWaitsWhenUnreachable ?? false,
  });
}
