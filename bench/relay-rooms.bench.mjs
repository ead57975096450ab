/**
 * A relay with 1,000 rooms of two sockets each: what a room costs while nothing happens, then 400 appends a second
 * spread over all of them.
 */
import { percentile, runFigures } from "./measure.mjs";
import { forkProgram, programPath } from "./programs.mjs";
import { coppice, findRelays, startRelay } from "./relays.mjs";

const roomCount = 1000;
const load = { bytes: 2048, perSecond: 400, count: 2000 };

const rooms = Array.from({ length: roomCount }, (_, at) => `room-${at}`);

await runFigures({
  rounds: 3,
  contestants: findRelays(),
  measure: measureRooms,
  figures: {
    idleBytes: {
      title: "1,000 idle rooms with two sockets; figures per room (memory of the relay)",
      unit: "bytes",
      budgetsOf: ({ name }) => (name === coppice.name ? [{ atMost: 40_000 }] : undefined),
    },
    cpuUs: { title: "400 appends/s of 2 kB over 1,000 rooms; figures per append (CPU time of the relay)", unit: "us" },
    medianUs: {
      title: "400 appends/s over 1,000 rooms, until the other socket has it: median (wall clock)",
      unit: "us",
    },
    p99Us: { title: "400 appends/s over 1,000 rooms, until the other socket has it: p99 (wall clock)", unit: "us" },
  },
});

async function measureRooms(kind) {
  const relay = await startRelay(kind);
  const clients = forkProgram(programPath("clients.mjs"), []);
  const empty = await relay.idleUsage();
  await clients.ask("join", { relay: { url: relay.url, dialect: relay.dialect }, rooms, perRoom: 2 });
  const idle = await relay.idleUsage();
  const latenciesMs = await clients.ask("appendInTurn", load);
  const after = await relay.usage();
  await clients.ask("leave");
  await relay.remove();
  clients.end();
  return {
    idleBytes: (idle.rssBytes - empty.rssBytes) / roomCount,
    cpuUs: (after.cpuUs - idle.cpuUs) / load.count,
    medianUs: percentile(latenciesMs, 0.5) * 1000,
    p99Us: percentile(latenciesMs, 0.99) * 1000,
  };
}
