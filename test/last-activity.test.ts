import { afterEach, expect, it } from "vitest";
import { Cleanup, makeStore, openDevice, startRelay } from "./src/rooms-under-test.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

it("[WS72] a device sees when something came into sessions that it has never opened", async () => {
  const relay = await startRelay(cleanup, await makeStore(cleanup));
  const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
  const before = Date.now();
  const session = await a.createSession({ cwd: "/tmp" });
  await session.session.appendMessage({ role: "user", content: "hello" });
  expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
  const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
  const seen = (atLeast: number): Promise<number> =>
    new Promise((resolve) => {
      const check = (): void => {
        const at = b.listSessions()[0]?.lastActivityAt ?? 0;
        if (at < atLeast) return;
        stop();
        resolve(at);
      };
      const stop = b.subscribe(check);
      check();
    });
  const first = await seen(before);
  expect(first).toBeLessThanOrEqual(Date.now());
  while (Date.now() <= first) await new Promise((resolve) => setImmediate(resolve));
  const later = Date.now();
  await session.session.appendMessage({ role: "user", content: "again" });
  expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
  b.refreshActivity();
  expect(await seen(later)).toBeLessThanOrEqual(Date.now());
});
