import type { SharedSession } from "@coppice/client";
import { parseFrame } from "@coppice/wire";
import { afterEach, describe, expect, it } from "vitest";
import {
  Cleanup,
  fetchSession,
  makeStore,
  openDevice,
  readTexts,
  startRelay,
  untilEqual,
} from "./src/rooms-under-test.ts";
import { type ScriptedProxy, startScriptedProxy } from "./src/scripted-proxy.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

async function startProxy(relayUrl: string): Promise<ScriptedProxy> {
  const proxy = await startScriptedProxy(relayUrl);
  cleanup.add(() => proxy.close());
  return proxy;
}

/** Two devices, each behind a network of its own, in one session that both hold. */
async function makePair() {
  const relayStore = await makeStore(cleanup);
  const relay = await startRelay(cleanup, relayStore);
  const [proxyA, proxyB] = [await startProxy(relay.url), await startProxy(relay.url)];
  const store = await makeStore(cleanup);
  const deviceA = await openDevice(cleanup, { name: "a", relay: proxyA.url, store });
  const a = await deviceA.createSession({ cwd: "/tmp" });
  await append(a, "root");
  expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await deviceA.waitUntilAcknowledged(30_000)).toBe(true);
  const deviceB = await openDevice(cleanup, { name: "b", relay: proxyB.url, store: await makeStore(cleanup) });
  const b = await fetchSession(deviceB, a.id);
  await untilEqual(a, b);
  return { relay, relayStore, proxyA, proxyB, store, deviceA, a, b };
}

async function append(session: SharedSession, ...texts: string[]): Promise<void> {
  for (const content of texts) await session.session.appendMessage({ role: "user", content });
}

function takeDown(proxy: ScriptedProxy): void {
  proxy.isOpen = false;
  proxy.cut();
}

/** Every device has so many entries, the same, and nothing waits. */
async function expectConverged(count: number, a: SharedSession, b: SharedSession): Promise<void> {
  expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await b.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await untilEqual(a, b)).toHaveLength(count);
  expect([a.status().pending, b.status().pending]).toEqual([0, 0]);
}

const isUpdate = (message: Uint8Array): boolean => {
  const frame = parseFrame(message);
  return frame.ok && frame.value.type === "update";
};

describe("a network that loses things", () => {
  it("[CL44] F1: entries made while the line is down arrive without a further append", async () => {
    const { proxyA, a, b } = await makePair();
    takeDown(proxyA);
    await append(a, "one", "two", "three");
    expect(a.status().pending).toBe(3);
    proxyA.isOpen = true;
    await expectConverged(4, a, b);
  });

  it("[CL44] F3: what is sent before the relay listens is not lost, and synced comes", async () => {
    const { relay, a } = await makePair();
    const slow = await startProxy(relay.url);
    slow.upDelayMs = 500;
    const device = await openDevice(cleanup, { name: "c", relay: slow.url, store: await makeStore(cleanup) });
    const c = await fetchSession(device, a.id);
    expect(c.status().relay.state).toBe("live");
    expect(await readTexts(c)).toEqual(await readTexts(a));
  });

  it("[CL44] F5: at the moment of synced the whole session is there", async () => {
    const { relay, a } = await makePair();
    const lines = Array.from({ length: 2_000 }, (_, at) =>
      JSON.stringify({
        type: "custom",
        id: `e${at}`,
        parentId: at === 0 ? null : `e${at - 1}`,
        timestamp: "2026-01-01T00:00:00.000Z",
        customType: "x",
        data: "y".repeat(1_000),
      }),
    );
    await a.storage.appendJson(lines);
    expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
    const device = await openDevice(cleanup, { name: "c", relay: relay.url, store: await makeStore(cleanup) });
    await fetchSession(device, a.id);
    const c = await device.openSession(a.id);
    expect((await c.storage.getEntries()).length).toBe(2_001);
    expect(c.storage.getHeaderJson?.()).toBe(a.storage.getHeaderJson?.());
  });

  it("[CL44] F7: entries made offline by a process that ended reach the others with the next one", async () => {
    const { relay, proxyA, store, deviceA, a, b } = await makePair();
    takeDown(proxyA);
    await append(a, "offline");
    await deviceA.close();
    const again = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    await expectConverged(2, await again.openSession(a.id), b);
  });

  it("[CL44] F8: after a time apart both directions come together", async () => {
    const { proxyA, a, b } = await makePair();
    takeDown(proxyA);
    await append(a, "from a", "from a again");
    await append(b, "from b");
    proxyA.isOpen = true;
    await expectConverged(4, a, b);
  });

  it("[CL44] F9: a line on which the relay's answers are lost is left, and what was made meanwhile arrives", async () => {
    const { proxyA, a, b } = await makePair();
    proxyA.passes = (_message, direction) => direction === "down";
    await append(a, "into the void");
    await untilStatus(a, ({ relay }) => relay.state !== "live");
    proxyA.passes = () => true;
    await append(a, "after");
    await expectConverged(3, a, b);
  });

  it("[CL44] F11: the status says offline when the line is cut and synced when it is back", async () => {
    const { proxyA, a } = await makePair();
    takeDown(proxyA);
    await untilStatus(a, ({ relay }) => relay.state === "offline");
    proxyA.isOpen = true;
    await untilStatus(a, ({ relay }) => relay.state === "live");
  });

  it("[CL44] F12: one lost update of ten is noticed by who waits for it, and asked for", async () => {
    const { proxyB, a, b } = await makePair();
    let updates = 0;
    proxyB.passes = (message, direction) => direction === "up" || !isUpdate(message) || ++updates !== 4;
    for (let at = 0; at < 10; at += 1) {
      await append(a, `update ${at}`);
      expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
    }
    await expectConverged(11, a, b);
    expect(updates).toBeGreaterThanOrEqual(10);
  });

  it("[CL44] F12: the last update lost leaves no gap to notice; the comparison finds it", async () => {
    const { proxyB, a, b } = await makePair();
    proxyB.passes = (message, direction) => direction === "up" || !isUpdate(message);
    await append(a, "lost on its way down");
    expect(await a.waitUntilAcknowledged(30_000)).toBe(true);
    await expectConverged(2, a, b);
  });

  it("[CL44] F21: what the line took from the sender and dropped is sent again, with all that builds on it", async () => {
    const { proxyA, a, b } = await makePair();
    let updates = 0;
    proxyA.passes = (message, direction) => direction === "down" || !isUpdate(message) || ++updates !== 2;
    await append(a, "A");
    await append(a, "B, dropped");
    await append(a, "C");
    await expectConverged(4, a, b);
  });

  it("[CL44] F17: connections cut at every message leave nobody with a wrong idea of the other", async () => {
    const { proxyA, a, b } = await makePair();
    let left = 0;
    proxyA.passes = (message) => {
      left -= 1;
      if (left !== 0 || message.length === 0) return true;
      proxyA.cut();
      return false;
    };
    for (let cutAt = 1; cutAt <= 8; cutAt += 1) {
      left = cutAt;
      await append(a, `a ${cutAt}`);
      await append(b, `b ${cutAt}`);
      await expectConverged(1 + 2 * cutAt, a, b);
    }
  });

  it("[CL44] F31: a wiped relay is filled again by the devices, each entry once", async () => {
    const { relay: old, proxyA, proxyB, deviceA, a, b } = await makePair();
    await append(a, "one");
    await expectConverged(2, a, b);
    await old.close();
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    for (const proxy of [proxyA, proxyB]) proxy.leadTo(relay.url);
    await untilStatus(a, ({ pending, relay }) => pending > 0 || relay.state === "live");
    await append(b, "two");
    await expectConverged(3, a, b);
    expect(await deviceA.waitUntilAcknowledged(30_000)).toBe(true);
    const device = await openDevice(cleanup, { name: "c", relay: relay.url, store: await makeStore(cleanup) });
    expect(await untilEqual(await fetchSession(device, a.id), a)).toHaveLength(3);
  });

  it("[CL43] a device that comes back to the foreground compares at once, and one without a line tries at once", async () => {
    const { proxyA, a } = await makePair();
    const sent: string[] = [];
    proxyA.passes = (message, direction) => {
      const frame = parseFrame(message);
      if (direction === "up" && frame.ok) sent.push(frame.value.type);
      return true;
    };
    a.resync();
    await untilTrue(() => sent.includes("digest"));
    takeDown(proxyA);
    await untilStatus(a, ({ relay }) => relay.state === "offline");
    proxyA.isOpen = true;
    a.resync();
    await untilStatus(a, ({ relay }) => relay.state === "live");
  });
});

async function untilStatus(
  session: SharedSession,
  isReached: (status: ReturnType<SharedSession["status"]>) => boolean,
) {
  while (!isReached(session.status())) {
    await new Promise<void>((resolve) => {
      const stop = session.subscribe(() => {
        stop();
        resolve();
      });
    });
  }
}

async function untilTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
