/**
 * How long an append of 2 kB takes until another client has it, at 200 a second over 20 rooms; beside what the disk
 * takes for the same bytes in the same minute. Coppice forwards what is on the disk; the peers store nothing here.
 */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { percentile, runFigures } from "./measure.mjs";
import { forkProgram, programPath } from "./programs.mjs";
import { coppice, findRelays, startRelay } from "./relays.mjs";

const load = { bytes: 2048, perSecond: 200, count: 800 };
const rooms = Array.from({ length: 20 }, (_, at) => `room-${at}`);
const title = "200 appends/s of 2 kB over 20 rooms, until another client has it";

const contestants = [
  { name: "a file and fdatasync, no relay", measure: measureDisk },
  ...findRelays().map((kind) => ({ name: kind.name, measure: () => measureEcho(kind) })),
];
await runFigures({
  rounds: 5,
  contestants,
  measure: async ({ measure }) => {
    const latenciesMs = await measure();
    return { medianUs: percentile(latenciesMs, 0.5) * 1000, p99Us: percentile(latenciesMs, 0.99) * 1000 };
  },
  figures: {
    medianUs: { title: `${title}: median (wall clock)`, unit: "us" },
    p99Us: {
      title: `${title}: p99 (wall clock)`,
      unit: "us",
      budgetsOf: ({ name }) => (name === coppice.name ? [{ atMost: 25_000 }] : undefined),
    },
  },
});

async function measureEcho(kind) {
  const relay = await startRelay(kind);
  const clients = forkProgram(programPath("clients.mjs"), []);
  await clients.ask("join", { relay: { url: relay.url, dialect: relay.dialect }, rooms, perRoom: 2 });
  // A few first, so that the code is compiled.
  await clients.ask("appendInTurn", { ...load, count: 200 });
  const latenciesMs = await clients.ask("appendInTurn", load);
  await clients.ask("leave");
  await relay.remove();
  clients.end();
  return latenciesMs;
}

async function measureDisk() {
  const folder = await mkdtemp(join(tmpdir(), "coppice-bench-disk-"));
  const file = await open(join(folder, "file"), "a");
  const entry = Buffer.alloc(load.bytes, 1);
  const latenciesMs = [];
  for (let at = 0; at < load.count; at++) {
    await new Promise((resolve) => setTimeout(resolve, 1000 / load.perSecond));
    const startMs = performance.now();
    await file.write(entry);
    await file.datasync();
    latenciesMs.push(performance.now() - startMs);
  }
  await file.close();
  await rm(folder, { recursive: true });
  return latenciesMs;
}
