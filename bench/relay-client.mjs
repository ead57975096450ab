/**
 * The least of a client: a socket that joins a room, sends updates and hands over those it gets, in the dialect of the
 * relay. It keeps no document, so that a process carries a thousand of them.
 */
import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { WebSocket } from "ws";

const [messageSync, messageAuth, messageSyncReply] = [0, 2, 4];
const [syncStep1, syncStep2, syncUpdate] = [0, 1, 2];
/** A state vector, and equally an update, of nothing. */
const emptyVector = Uint8Array.of(0);

/**
 * Joins a room and settles when everything in it that is beyond `stateVector` has arrived.
 * @param {{ url: string, dialect: string }} relay
 * @param {string} room
 * @param {{ stateVector?: Uint8Array, onUpdate?: (update: Uint8Array) => void, onBytes?: (count: number) => void }} options
 */
export async function joinRoom(relay, room, { stateVector = emptyVector, onUpdate, onBytes } = {}) {
  const dialect = dialects[relay.dialect];
  const socket = new WebSocket(`${relay.url}/${room}`, { perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    const failBy = (what) => reject(new Error(`${relay.url}/${room}: ${what}`));
    socket.once("error", (error) => failBy(error.message));
    socket.once("close", (code) => failBy(`closed with ${code} before it was in step`));
    socket.on("open", () => {
      for (const frame of dialect.greet(room, stateVector)) socket.send(frame);
      if (dialect.isInStepAtOnce) resolve();
    });
    socket.on("message", (message) => {
      onBytes?.(message.length);
      const { kind, update } = dialect.read(message);
      if (update !== undefined) onUpdate?.(update);
      if (kind === syncStep2) resolve();
    });
  });
  return {
    socket,
    sendUpdate: (update) => socket.send(dialect.writeUpdate(room, update)),
    close: () =>
      new Promise((resolve) => {
        socket.once("close", resolve);
        socket.close();
      }),
  };
}

/**
 * Records in an update of one device. A relay may send several appends as one update, and all are counted alike.
 */
export function countRecords(update) {
  const decoder = decoding.createDecoder(update);
  const sections = decoding.readVarUint(decoder);
  return sections === 0 ? 0 : decoding.readVarUint(decoder);
}

const dialects = {
  "y-websocket": {
    greet: (_room, vector) => [encodeSync(syncStep1, vector)],
    writeUpdate: (_room, update) => encodeSync(syncUpdate, update),
    read: (message) => readSync(decoding.createDecoder(message)),
  },
  hocuspocus: {
    greet: (room, vector) => [encodeToken(room), encodeSync(syncStep1, vector, room)],
    writeUpdate: (room, update) => encodeSync(syncUpdate, update, room),
    read: (message) => {
      const decoder = decoding.createDecoder(message);
      decoding.readVarString(decoder);
      return readSync(decoder);
    },
  },
  none: {
    isInStepAtOnce: true,
    greet: () => [],
    writeUpdate: (_room, update) => update,
    read: (message) => ({ kind: syncUpdate, update: message }),
  },
};

function encodeSync(kind, payload, room) {
  return encoding.encode((encoder) => {
    if (room !== undefined) encoding.writeVarString(encoder, room);
    encoding.writeVarUint(encoder, messageSync);
    encoding.writeVarUint(encoder, kind);
    encoding.writeVarUint8Array(encoder, payload);
  });
}

/** Hocuspocus lets nobody in without one, whatever it says. */
function encodeToken(room) {
  return encoding.encode((encoder) => {
    encoding.writeVarString(encoder, room);
    encoding.writeVarUint(encoder, messageAuth);
    encoding.writeVarUint(encoder, 0);
    encoding.writeVarString(encoder, "token");
  });
}

function readSync(decoder) {
  const message = decoding.readVarUint(decoder);
  if (message !== messageSync && message !== messageSyncReply) return { kind: undefined };
  const kind = decoding.readVarUint(decoder);
  return { kind, update: kind === syncStep1 ? undefined : decoding.readVarUint8Array(decoder) };
}
