import { readFileSync } from "node:fs";
import { openRelay, type RelayOptions } from "@coppice/relay";
import { closeCodes, tokenToSubprotocols } from "@coppice/wire";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { RawClient } from "./raw-client.ts";
import { startRelay } from "./relay-fixture.ts";
import { Writer } from "./writer.ts";

test("[RL1] an open relay listens on loopback only and says so", async () => {
  for (const host of [
    "0.0.0.0",
    "::",
    "192.168.1.2",
    "example.org",
    "localhost.example.org",
    "127.0.0.1.example.org",
  ]) {
    const opening = openRelay({ store: new MemoryUpdateStore(), auth: "open", host });
    await expect(opening).rejects.toMatchObject({
      code: "relay_refused",
      message: `A relay with open access listens on this machine only: use 127.0.0.1 instead of ${host}.`,
    });
  }
});

test("[RL1] another access mode is refused", async () => {
  const options = { store: new MemoryUpdateStore(), auth: "token" } as unknown as RelayOptions;
  await expect(openRelay(options)).rejects.toMatchObject({ code: "relay_refused" });
});

test("[RL1] loopback names and the port that was got are in the relay's address", async () => {
  for (const [host, url] of [
    ["127.0.0.1", /^ws:\/\/127\.0\.0\.1:\d+$/],
    ["localhost", /^ws:\/\/(127\.0\.0\.1|\[::1\]):\d+$/],
  ] as const) {
    const relay = await openRelay({ store: new MemoryUpdateStore(), auth: "open", host });
    expect(relay.url).toMatch(url);
    expect(relay.url.endsWith(`:${relay.port}`)).toBe(true);
    await relay.close();
  }
});

test("[RL1] a port that is taken is an error that names it", async () => {
  const { relay } = await startRelay();
  const { port } = relay;
  const opening = openRelay({ store: new MemoryUpdateStore(), auth: "open", port });
  await expect(opening).rejects.toThrow(`The relay cannot listen on 127.0.0.1:${port}`);
});

const headers: ReadonlyArray<[string, Record<string, string>, boolean]> = [
  ["no origin (a program)", {}, true],
  ["a page of this machine", { origin: "http://localhost:5173" }, true],
  ["a page of this machine by address", { origin: "https://127.0.0.1" }, true],
  ["a page of this machine by IPv6 address", { origin: "http://[::1]:8080" }, true],
  ["a web page", { origin: "https://evil.example" }, false],
  ["a web page with a lookalike name", { origin: "http://localhost.evil.example" }, false],
  ["a sandboxed page", { origin: "null" }, false],
  ["a page from somewhere else", { origin: "file://" }, false],
  ["a name that was pointed here (DNS rebinding)", { host: "evil.example" }, false],
  [
    "a name that was pointed here, with an origin that looks local",
    { host: "evil.example:80", origin: "http://localhost" },
    false,
  ],
  ["a loopback name", { host: "localhost:4600" }, true],
];

for (const [name, sent, isLetIn] of headers) {
  test(`[RL2] ${name} is ${isLetIn ? "let in" : "closed after the upgrade with 4403"}`, async () => {
    const { relay } = await startRelay();
    const client = await RawClient.open(`${relay.url}/room`, { headers: sent });
    client.send({ type: "syncStep1", stateVector: new Map() });
    if (isLetIn) {
      await client.take("syncStep2");
      await client.close();
    } else {
      expect((await client.closed).code).toBe(closeCodes.forbidden);
      expect(client.received).toEqual([]);
    }
  });
}

test("[RL2] [RL7] F41: whatever a connection that is not let in sends at once, it is closed, and nothing of it is handled", async () => {
  const { relay, store, raw } = await startRelay();
  const frames = fc.sample(fc.uint8Array({ maxLength: 200 }), { numRuns: 300, seed: 41 });
  const update = new Writer(5).push([1]);
  for (let at = 0; at < frames.length; at += 30) {
    const client = new RawClient(`${relay.url}/room`, { headers: { origin: "https://evil.example" } });
    client.socket.on("open", () => {
      for (const frame of frames.slice(at, at + 30)) client.socket.send(frame);
      client.socket.send("ping");
      client.sendUpdate(update);
    });
    expect((await client.closed).code).toBe(closeCodes.forbidden);
    expect(client.received).toEqual([]);
  }
  expect(store.openCount).toBe(0);
  await (await raw("room")).barrier();
});

const roomPaths: ReadonlyArray<[string, boolean]> = [
  ["/a", true],
  ["/AZaz09_-", true],
  [`/${"x".repeat(200)}`, true],
  ["/room?token=1", true],
  ["/", false],
  [`/${"x".repeat(201)}`, false],
  ["/a/b", false],
  ["/a%20b", false],
  ["/%2e%2e", false],
  ["/rööm", false],
];

for (const [path, isRoom] of roomPaths) {
  test(`[RL3] the path ${path.slice(0, 20)} (${path.length}) is ${isRoom ? "a" : "no"} room name`, async () => {
    const { relay } = await startRelay();
    const client = await RawClient.open(`${relay.url}${path}`);
    client.send({ type: "syncStep1", stateVector: new Map() });
    if (isRoom) {
      await client.take("syncStep2");
      await client.close();
    } else expect((await client.closed).code).toBe(closeCodes.badRoomName);
  });
}

test("[RL3] rooms know nothing of each other", async () => {
  const { stock } = await startRelay();
  const [a, b, other] = [stock("one"), stock("one"), stock("two")];
  await Promise.all([a.synced(), b.synced(), other.synced()]);
  a.push(1);
  await b.hasRecords(1);
  other.push(2);
  expect(other.firstBytes()).toEqual([2]);
  expect(b.firstBytes()).toEqual([1]);
});

test("[RL4] HTTP gets a short plain answer, and other methods none", async () => {
  const { relay } = await startRelay();
  const url = relay.url.replace("ws:", "http:");
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  for (const path of ["/room", "/health", "/metrics"]) expect((await fetch(`${url}${path}`)).status).toBe(404);
  expect(answer.headers.get("content-type")).toContain("text/plain");
  expect((await answer.text()).length).toBeLessThan(200);
  expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(405);
});

test("[RL4] an app answers everything but probes and websockets", async () => {
  const asked: string[] = [];
  const relay = await openRelay({
    store: new MemoryUpdateStore(),
    auth: "open",
    app: ({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.writeHead(202).end("app");
    },
  });
  onTestFinished(() => relay.close());
  const url = relay.url.replace("ws:", "http:");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  for (const path of ["/", "/room?x=1"]) expect(await (await fetch(`${url}${path}`)).text()).toBe("app");
  expect((await fetch(`${url}/healthz`, { method: "POST" })).status).toBe(202);
  expect(asked).toEqual(["GET /", "GET /room?x=1", "POST /healthz"]);
});

test("[RL71] probes are told that the process lives, and whether clients should be sent here", async () => {
  const { relay, store, follower } = await startRelay({ storeCheckIntervalMs: 5, closeGraceMs: 60_000 });
  const url = relay.url.replace("ws:", "http:");
  const probe = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`${url}${path}`);
    return [answer.status, await answer.text()];
  };
  expect(await probe("/healthz")).toEqual([200, "ok\n"]);
  expect(await probe("/readyz")).toEqual([200, "ready\n"]);
  expect((await fetch(`${url}/readyz`, { method: "HEAD" })).status).toBe(200);
  const client = await follower("room");
  store.hooks.beforeReadValue = async () => {
    throw new Error("the disk is gone");
  };
  await client.closed;
  expect(await probe("/readyz")).toEqual([503, "the relay's store cannot be read\n"]);
  expect(await probe("/healthz")).toEqual([200, "ok\n"]);
  delete store.hooks.beforeReadValue;
  while ((await probe("/readyz"))[0] !== 200);
});

test("[RL2] a client that offers a subprotocol gets one of them selected", async () => {
  const { relay } = await startRelay();
  const client = new RawClient(`${relay.url}/room`, {}, ["coppice", "token.abc"]);
  await new Promise<void>((resolve) => client.socket.once("open", () => resolve()));
  expect(client.socket.protocol).toBe("coppice");
  await client.close();
});

test("[WI60] a client with a token gets in, and no token is in the answer", async () => {
  const { relay } = await startRelay();
  const [protocol, token] = tokenToSubprotocols("secret");
  for (const offered of [
    [protocol, token],
    [token, protocol],
  ]) {
    const client = new RawClient(`${relay.url}/room`, {}, [...offered]);
    await new Promise<void>((resolve) => client.socket.once("open", () => resolve()));
    expect(client.socket.protocol).toBe("coppice.v1");
    await client.close();
  }
});

test("[RL29] the relay has neither Yjs nor a session reader among what it is made of", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    dependencies: Record<string, string>;
  };
  expect(Object.keys(manifest.dependencies).toSorted()).toEqual([
    "@coppice/core",
    "@coppice/wire",
    "lib0",
    "pino",
    "ws",
  ]);
});
