/**
 * What it costs a relay's process to hand one append of 2 kB to one reader, when 50 or 500 read along. Coppice has it
 * on the disk before it forwards; the peers store nothing here.
 */
import { runFigures } from "./measure.mjs";
import { forkProgram, programPath } from "./programs.mjs";
import { joinRoom } from "./relay-client.mjs";
import { coppice, findRelays, floorName, startRelay } from "./relays.mjs";
import { createUpdates } from "./updates.mjs";

const entryBytes = 2048;
const loads = [
  { readers: 50, appends: 200, intervalMs: 10, budgets: [{ atMost: 40 }, { times: 1.25, of: floorName }] },
  { readers: 500, appends: 30, intervalMs: 100, budgets: [{ atMost: 14.5 }, { times: 1.14, of: floorName }] },
];

const relays = await Promise.all(findRelays().map((kind) => startRelay(kind)));
const readers = forkProgram(programPath("clients.mjs"), []);
let roomCount = 0;
try {
  for (const load of loads) {
    const updates = createUpdates(load.appends, entryBytes);
    await runFigures({
      rounds: 5,
      warmUpRounds: 1,
      contestants: relays,
      measure: (relay) => measureDeliveries(relay, updates, load),
      figures: {
        cpuUs: {
          title: `Fan-out of 2 kB to ${load.readers} readers; figures per delivery (CPU time of the relay)`,
          unit: "us",
          budgetsOf: ({ name }) => (name === coppice.name ? load.budgets : undefined),
        },
      },
    });
  }
} finally {
  await Promise.all(relays.map((relay) => relay.remove()));
}
// The readers' process ends with this one.
process.exit();

async function measureDeliveries(relay, updates, { readers: perRoom, intervalMs }) {
  const room = `fan-out-${roomCount++}`;
  const writer = await joinRoom(relay, room);
  await readers.ask("join", { relay: { url: relay.url, dialect: relay.dialect }, rooms: [room], perRoom });
  const deliveries = updates.length * perRoom;
  const received = readers.ask("receive", { count: deliveries });
  const before = await relay.usage();
  for (const update of updates) {
    writer.sendUpdate(update);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  await received;
  const after = await relay.usage();
  await readers.ask("leave");
  await writer.close();
  return { cpuUs: (after.cpuUs - before.cpuUs) / deliveries };
}
