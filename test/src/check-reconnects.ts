/**
 * Cuts a device's connections again and again, with the relay in the same process, and tells what stays in memory:
 * `node --expose-gc --no-opt --no-sparkplug test/dist/check-reconnects.js [ROUNDS]` (5000). Without the other flags the
 * heap grows by compiled code. Each round cuts two connections, the session's and the list's, and waits until both are
 * live again; the first fifth is not counted. One line of JSON; exit 1 when a round leaves more than `mostBytesPerRound`, beyond `mostBytesOnce`.
 */
import { once } from "node:events";
import { Cleanup, makeStore, openDevice, startRelay } from "./rooms-under-test.ts";
import { startScriptedProxy } from "./scripted-proxy.ts";

/** Two conversations or sockets that stay are some 20 kB. */
const mostBytesPerRound = 500;
/** What fills once: caches, and what the runtime keeps of the code it has run. */
const mostBytesOnce = 300_000;

const { gc } = globalThis as { gc?: () => void };
if (gc === undefined) {
  console.error("usage: node --expose-gc check-reconnects.js [ROUNDS]");
  process.exit(2);
}
const rounds = Number(process.argv[2] ?? 5_000);
const cleanup = new Cleanup();
const relay = await startRelay(cleanup, await makeStore(cleanup));
const proxy = await startScriptedProxy(relay.url);
cleanup.add(() => proxy.close());
const timings = { maxReconnectDelayMs: 2, resendAfterMs: 4_500, resyncIntervalMs: 30_000 };
const store = await makeStore(cleanup);
const device = await openDevice(cleanup, { name: "a", relay: proxy.url, store, timings });
const session = await device.createSession({ cwd: "/tmp" });
for (let at = 0; at < 100; at += 1) await session.session.appendMessage({ role: "user", content: `entry ${at}` });

const isLive = (): boolean => [session, device].every((replica) => replica.status().relay.state === "live");

/** Settles when both connections are live. */
async function untilLive(): Promise<void> {
  while (!isLive())
    await new Promise<void>((resolve) => {
      const stops = [session, device].map((replica) =>
        replica.subscribe(() => {
          for (const stop of stops) stop();
          resolve();
        }),
      );
    });
}

async function measureHeapBytes(): Promise<number> {
  // What a cut socket holds is let go in a later turn of the event loop.
  for (let turns = 0; turns < 5; turns += 1) {
    gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

await session.waitUntilAcknowledged(30_000);
await untilLive();
const uncounted = Math.ceil(rounds / 5);
let bytesBefore = 0;
for (let round = 0; round < rounds; round += 1) {
  if (round === uncounted) bytesBefore = await measureHeapBytes();
  proxy.cut();
  // A cut is noticed in a later turn.
  while (isLive()) await new Promise((resolve) => setImmediate(resolve));
  await untilLive();
}
const bytesLeft = (await measureHeapBytes()) - bytesBefore;
const bytesPerRound = Math.round(bytesLeft / (rounds - uncounted));
const { connections, rooms } = relay.readStats();
console.log(JSON.stringify({ rounds, attempts: proxy.offers.length, bytesPerRound, connections, rooms }));
await cleanup.run();
if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
const isFlat = bytesLeft <= mostBytesOnce + mostBytesPerRound * (rounds - uncounted);
process.exitCode = isFlat && connections === 2 ? 0 : 1;
