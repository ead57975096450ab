import { execFile } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SharedSession, SyncStatus, Workspace } from "@coppice/client";
import { closeCodes, encodeFrame, findToken } from "@coppice/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Cleanup, fetchSession, makeStore, openDevice, readRoom, startRelay } from "./src/rooms-under-test.ts";
import { type Door, type ScriptedProxy, startScriptedProxy } from "./src/scripted-proxy.ts";

const cleanup = new Cleanup();
afterEach(async () => {
  vi.useRealTimers();
  await cleanup.run();
});

/** A device behind a network of its own, in a session with one entry that the relay has. */
async function makeDevice(more: Partial<Parameters<typeof openDevice>[1]> = {}) {
  const relayStore = await makeStore(cleanup);
  const relay = await startRelay(cleanup, relayStore);
  const proxy = await startScriptedProxy(relay.url);
  cleanup.add(() => proxy.close());
  const store = await makeStore(cleanup);
  const device = await openDevice(cleanup, { name: "a", relay: proxy.url, store, ...more });
  const session = await device.createSession({ cwd: "/tmp" });
  await append(session, "root");
  expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await device.waitUntilAcknowledged(30_000)).toBe(true);
  return { relay, relayStore, proxy, store, device, session };
}

async function append(session: SharedSession, ...texts: string[]): Promise<void> {
  for (const content of texts) await session.session.appendMessage({ role: "user", content });
}

/** Settles with the first status, now or later, that passes. */
function untilStatus(
  replica: Pick<Workspace, "status"> & { subscribe(listener: () => void): () => void },
  isReached: (status: SyncStatus) => boolean,
): Promise<SyncStatus> {
  return new Promise((resolve) => {
    const check = (): void => {
      const status = replica.status();
      if (!isReached(status)) return;
      stop();
      resolve(status);
    };
    const stop = replica.subscribe(check);
    check();
  });
}

const inState =
  (state: SyncStatus["relay"]["state"]) =>
  ({ relay }: SyncStatus): boolean =>
    relay.state === state;

/** Every state of the relay's side that a subscriber saw from now on, each change once. */
function recordStates(session: SharedSession): string[] {
  const states: string[] = [];
  session.subscribe(() => {
    const { state } = session.status().relay;
    if (states.at(-1) !== state) states.push(state);
  });
  return states;
}

/** Closes the door and cuts what is open. */
function shut(proxy: ScriptedProxy, door: Door): void {
  proxy.door = () => door;
  proxy.cut();
}

describe("the status behind a network that does what it wants", () => {
  it.each<[string, Door, RegExp]>([
    ["a relay that is not there (HTTP 502)", { status: 502 }, /502/],
    ["an overloaded one (HTTP 503)", { status: 503 }, /503/],
    ["a gateway that has no token for us (HTTP 401)", { status: 401 }, /401/],
    ["one that accepts and drops", "drop", /./],
    ["one that is restarting", { code: closeCodes.restarting, reason: "the relay is stopping" }, /stopping \(4503\)/],
  ])(
    "[SY3, SY11] %s: offline with a reason, one state as long as it lasts, and live by itself afterwards",
    async (_what, door, reason) => {
      const { proxy, session } = await makeDevice();
      const before = proxy.offers.length;
      shut(proxy, door);
      await untilStatus(session, inState("offline"));
      const states = recordStates(session);
      await append(session, "offline");
      // Two replicas try: the session's and the list's.
      await untilTrue(() => proxy.offers.length >= before + 8);
      await untilStatus(session, ({ relay }) => relay.state === "offline" && reason.test(relay.reason ?? ""));
      expect(session.status()).toMatchObject({ local: { state: "saved" }, pending: 1 });
      expect(states.filter((state) => state !== "offline")).toEqual([]);
      proxy.door = () => "open";
      expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
      expect(states.slice(-2)).toEqual(["catching-up", "live"]);
    },
  );

  it.each<Door>(["half-open", "mute"])(
    "[SY10] a relay behind a door that is %s is left, and not called reached",
    async (door) => {
      const { proxy, session } = await makeDevice();
      shut(proxy, door);
      await untilStatus(session, inState("offline"));
      const states = recordStates(session);
      const attempts = proxy.offers.length;
      await untilTrue(() => proxy.offers.length >= attempts + 3);
      expect(states.filter((state) => state !== "offline")).toEqual([]);
      proxy.door = () => "open";
      await untilStatus(session, inState("live"));
    },
  );

  it("[SY3, SY12] whoever opens first connects, and says nothing of an open socket before the relay's first word", async () => {
    const { proxy, session, device } = await makeDevice();
    await session.close();
    proxy.door = () => "mute";
    const again = await device.openSession(session.id);
    const attempts = proxy.offers.length;
    await untilTrue(() => proxy.offers.length > attempts);
    expect(again.status().relay).toEqual({ state: "connecting" });
    proxy.door = () => "open";
    again.resync();
    expect(again.status().relay.state).toBe("connecting");
    await untilStatus(again, inState("live"));
  });

  it("[SY3] what is fetched is counted: n of m grows to all of it", async () => {
    const { relay, session } = await makeDevice();
    const big = "x".repeat(100_000);
    for (let at = 0; at < 12; at += 1) await append(session, `${at} ${big}`);
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    const proxy = await startScriptedProxy(relay.url);
    cleanup.add(() => proxy.close());
    const other = await openDevice(cleanup, { name: "b", relay: proxy.url, store: await makeStore(cleanup) });
    await untilStatus(other, inState("live"));
    const seen: { arrived: number; total: number }[] = [];
    const opening = other.openSession(session.id);
    const fetched = await opening;
    fetched.subscribe(() => {
      const { relay: side } = fetched.status();
      if (side.state === "catching-up") seen.push({ arrived: side.arrived, total: side.total });
    });
    await untilStatus(fetched, inState("live"));
    const counted = seen.filter(({ total }) => total > 0);
    expect(counted.length).toBeGreaterThan(1);
    expect(new Set(counted.map(({ total }) => total)).size).toBe(1);
    const arrived = counted.map((progress) => progress.arrived);
    expect(arrived).toEqual(arrived.toSorted((left, right) => left - right));
    expect(arrived[0]).toBe(0);
  });

  it.each([
    [closeCodes.forbidden, "not for you", { state: "refused", code: 4403, reason: "not for you" }],
    [closeCodes.versionMismatch, "upgrade this program", { state: "too-old", reason: "upgrade this program" }],
  ])(
    "[SY3, SY12, SY15] %i is final for its cause: no attempt by itself, one for who asks, and then live",
    async (code, reason, shown) => {
      const { proxy, session, device } = await makeDevice();
      shut(proxy, { code, reason });
      await untilStatus(session, ({ relay }) => relay.state === shown.state);
      await untilStatus(device, ({ relay }) => relay.state === shown.state);
      expect(session.status().relay).toEqual(shown);
      expect(device.overallStatus().relay).toEqual(shown);
      const attempts = proxy.offers.length;
      proxy.door = () => "open";
      await append(session, "while refused");
      // Many times as long as a lost connection would have waited.
      await wait(1_000);
      expect(proxy.offers.length).toBe(attempts);
      expect(session.status()).toMatchObject({ relay: shown, pending: 1 });
      device.resync();
      expect(session.status().relay).toEqual({ state: "connecting" });
      expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    },
  );

  it("[SY15] a relay that does not speak this version of the protocol is told from one that refuses", async () => {
    const { proxy, session } = await makeDevice();
    proxy.answer = (frame) =>
      frame.type === "ackRequest"
        ? encodeFrame({ type: "refused", code: closeCodes.versionMismatch, reason: "upgrade the relay" })
        : undefined;
    proxy.cut();
    await untilStatus(session, inState("too-old"));
    expect(session.status().relay).toEqual({ state: "too-old", reason: "upgrade the relay" });
  });

  it("[SY12] a network that returns is an attempt at once, however long the wait", async () => {
    let returns = (): void => undefined;
    const { proxy, session, device } = await makeDevice({
      networkSignal: (listener) => {
        returns = listener;
        return () => {
          returns = () => undefined;
        };
      },
      // The next attempt would come in about an hour.
      random: () => 1,
      timings: { maxReconnectDelayMs: 3_600_000, resendAfterMs: 1_000, resyncIntervalMs: 2_000 },
    });
    shut(proxy, { status: 502 });
    await untilStatus(session, inState("offline"));
    await untilTrue(() => proxy.offers.length >= 8);
    proxy.door = () => "open";
    returns();
    expect(session.status().relay).toEqual({ state: "connecting" });
    await untilStatus(session, inState("live"));
    await untilStatus(device, inState("live"));
    await device.close();
    returns();
  });

  it("[CL5, SY4] pending is 0 exactly when acknowledgements cover the durable log, also of an earlier process", async () => {
    const { relay, relayStore, proxy, store, device, session } = await makeDevice();
    shut(proxy, { status: 503 });
    await untilStatus(session, inState("offline"));
    await append(session, "one", "two");
    expect(session.status()).toMatchObject({ pending: 2, unsaved: 0 });
    const acknowledgedAt = session.status().lastAcknowledgedAt;
    await device.close();
    // The process after it has them from the log; the proxy lets everything through but acknowledgements.
    proxy.passes = (message, direction) => direction === "up" || !(message[0] === 67 && message[1] === 1);
    proxy.door = () => "open";
    const next = await openDevice(cleanup, { name: "a", relay: proxy.url, store });
    const again = await next.openSession(session.id);
    expect(again.status()).toMatchObject({ pending: 2, unsaved: 0 });
    const isStored = async (): Promise<boolean> =>
      (await readRoom(relayStore, session.roomId)).getArray("entries").length === 4;
    await untilTrueAsync(isStored);
    // The relay has them; nobody has heard of it here.
    expect(again.status().pending).toBe(2);
    proxy.passes = () => true;
    expect(await again.waitUntilAcknowledged(30_000)).toBe(true);
    const status = again.status();
    expect(status.pending).toBe(0);
    expect(status.lastAcknowledgedAt).toBeGreaterThanOrEqual(acknowledgedAt ?? Number.POSITIVE_INFINITY);
    await relay.close();
  });
});

describe("tokens", () => {
  const sentTokens = ({ offers }: ScriptedProxy): (string | undefined)[] =>
    offers.map((offered) => findToken(offered?.split(/, */) ?? []));

  it("[SY13] F88: after a restart of the relay every connection comes with a fresh token", async () => {
    let given = 0;
    const { relay, proxy, device, session } = await makeDevice({ token: async () => `token ${++given}` });
    const before = new Set(sentTokens(proxy));
    expect([...before].every((token) => token?.startsWith("token "))).toBe(true);
    await relay.close();
    await untilStatus(session, inState("offline"));
    await untilStatus(device, inState("offline"));
    const attempts = proxy.offers.length;
    proxy.leadTo((await startRelay(cleanup, await makeStore(cleanup))).url);
    await untilStatus(session, inState("live"));
    await untilStatus(device, inState("live"));
    const after = sentTokens(proxy).slice(attempts);
    expect(after.length).toBeGreaterThanOrEqual(2);
    expect(after.filter((token) => token === undefined || before.has(token))).toEqual([]);
    expect(JSON.stringify([session.status(), device.status()])).not.toContain("token ");
  });

  it("[SY13] a source that rejects, throws or hangs does not end sync", async () => {
    let isSignedIn = true;
    const failures: (() => Promise<string>)[] = [
      () => Promise.reject(new Error("the keychain is locked")),
      () => {
        throw new Error("no account");
      },
      () => new Promise(() => undefined),
    ];
    const { proxy, session } = await makeDevice({
      token: () => (isSignedIn ? Promise.resolve("good") : (failures[0] ?? (() => Promise.resolve("good")))()),
    });
    isSignedIn = false;
    proxy.cut();
    const reasonOf = ({ relay }: SyncStatus): string => ("reason" in relay ? (relay.reason ?? "") : "");
    await untilStatus(session, (status) => reasonOf(status) === "no token to connect with: the keychain is locked");
    failures.shift();
    await untilStatus(session, (status) => reasonOf(status).endsWith("no account"));
    failures.shift();
    // Somebody asks while it hangs: an attempt of its own, which asks the source again.
    failures.shift();
    session.resync();
    await untilStatus(session, inState("live"));
  });

  it("[SY14] F90: a refused token is sign in again, tried a few times alone, and a new one ends it when somebody asks", async () => {
    let token = "good";
    const { proxy, device, session } = await makeDevice({ token: async () => token });
    const log = [vi.spyOn(console, "error"), vi.spyOn(console, "warn"), vi.spyOn(console, "log")];
    token = "expired";
    proxy.door = (attempt) =>
      sentTokens(proxy)[attempt] === "good"
        ? "open"
        : { code: closeCodes.unauthorised, reason: "the token has expired" };
    proxy.cut();
    const attempts = proxy.offers.length;
    const shown = { state: "refused", code: 4401, reason: "sign in again: the token has expired" };
    for (const replica of [session, device]) await untilStatus(replica, inState("refused"));
    expect(session.status().relay).toEqual(shown);
    await append(session, "while refused");
    await wait(2_000);
    // One each, and a second one by the first to be refused.
    expect(proxy.offers.length - attempts).toBeLessThanOrEqual(4);
    expect(session.status()).toMatchObject({ relay: shown, pending: 1 });
    for (const spy of log) expect(spy).not.toHaveBeenCalled();
    token = "good";
    device.resync();
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    await untilStatus(device, inState("live"));
  });

  it("[SY14] a token that was refused once is replaced by a fresh one without anybody asking", async () => {
    let token = "good";
    const { proxy, device, session } = await makeDevice({
      token: async () => {
        const given = token;
        token = "good";
        return given;
      },
    });
    proxy.door = (attempt) =>
      sentTokens(proxy)[attempt] === "good"
        ? "open"
        : { code: closeCodes.unauthorised, reason: "the token has expired" };
    token = "expired";
    proxy.cut();
    await untilTrue(() => sentTokens(proxy).includes("expired"));
    for (const replica of [session, device]) await untilStatus(replica, inState("live"));
  });
});

describe("many reconnects", () => {
  it("[SY11] F60: they leave nothing behind, in the client or in the relay", async () => {
    const script = fileURLToPath(new URL("dist/check-reconnects.js", import.meta.url));
    const flags = ["--expose-gc", "--no-opt", "--no-sparkplug"];
    // Rejects when the script finds that a round leaves too much.
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, "100"]);
    expect(JSON.parse(stdout)).toMatchObject({ rounds: 100, connections: 2, rooms: 2 });
  }, 180_000);
});

describe("the clock", () => {
  it.each([1, -1])("[SY16] set by %i h, it ends no connection and hides no dead one", async (hours) => {
    const { proxy, session, device } = await makeDevice();
    const states = recordStates(session);
    const connections = proxy.offers.length;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
    await append(session, "at another time");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    expect(Math.abs((session.status().lastAcknowledgedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    // Long enough for two comparisons, and for a watch that goes by the clock to give up.
    await wait(4_500);
    expect(states.filter((state) => state !== "live")).toEqual([]);
    expect(proxy.offers.length).toBe(connections);
    // From here on nothing passes, and nobody says so.
    proxy.passes = () => false;
    proxy.answersPings = false;
    await append(session, "into the void");
    await untilStatus(session, inState("offline"));
    proxy.passes = () => true;
    proxy.answersPings = true;
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    expect(await device.waitUntilAcknowledged(30_000)).toBe(true);
    const other = await openDevice(cleanup, { name: "b", relay: proxy.url, store: await makeStore(cleanup) });
    expect(await (await fetchSession(other, session.id)).storage.getEntries()).toHaveLength(3);
  });
});

async function untilTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

async function untilTrueAsync(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}
