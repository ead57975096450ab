/**
 * How much a relay's memory grows while 60 MB are appended to a room: with readers that read, then with one
 * that has stopped reading, and what is left after that one is gone. With the peers the room's document is
 * part of it; with Coppice the mapped pages of its database are not.
 */
import { runFigures } from "./measure.mjs";
import { countRecords, joinRoom } from "./relay-client.mjs";
import { coppice, findRelays, startRelay } from "./relays.mjs";
import { createUpdates } from "./updates.mjs";

const entryBytes = 60_000;
const room = "room";
const updates = createUpdates(1000, entryBytes);
/** Appends under way at a time. */
const window = 20;

await runFigures({
  rounds: 3,
  contestants: findRelays(),
  measure: measureStall,
  figures: {
    calmBytes: { title: "All read while 60 MB are appended: growth of the relay's memory", unit: "bytes" },
    stalledBytes: {
      title: "A reader stalls while 60 MB are appended: growth of the relay's memory",
      unit: "bytes",
      budgetsOf: ({ name }) => (name === coppice.name ? [{ atMost: 60e6 }] : undefined),
    },
    leftBytes: {
      title: "A reader stalls while 60 MB are appended: what is left of the growth after it has gone",
      unit: "bytes",
    },
  },
});

async function measureStall(kind) {
  // Each in a process of its own: one that has grown before grows no more, whatever it holds.
  const calm = await startRelay(kind);
  const calmStart = await calm.idleUsage();
  await appendAll(calm);
  const calmEnd = await calm.idleUsage();
  await calm.remove();

  const relay = await startRelay(kind);
  const before = await relay.idleUsage();
  const stalled = await joinRoom(relay, room);
  stalled.socket.pause();
  await appendAll(relay);
  const after = await relay.idleUsage();
  stalled.socket.terminate();
  const left = await relay.idleUsage();
  await relay.remove();
  return {
    calmBytes: calmEnd.ownBytes - calmStart.ownBytes,
    stalledBytes: after.ownBytes - before.ownBytes,
    leftBytes: left.ownBytes - before.ownBytes,
  };
}

/** Appends everything, a few at a time, as fast as a reader in step gets them. */
async function appendAll(relay) {
  let received = 0;
  let onReceived;
  const reader = await joinRoom(relay, room, {
    onUpdate: (update) => {
      received += countRecords(update);
      onReceived?.();
    },
  });
  const writer = await joinRoom(relay, room);
  for (const [at, update] of updates.entries()) {
    writer.sendUpdate(update);
    while (received < Math.min(at + 1 - window, updates.length)) await nextReceived();
  }
  while (received < updates.length) await nextReceived();
  await writer.close();
  await reader.close();

  function nextReceived() {
    return new Promise((resolve) => {
      onReceived = resolve;
    });
  }
}
