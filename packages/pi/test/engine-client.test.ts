import { afterEach, expect, it } from "vitest";
import { EngineClient } from "../src/engine-client.ts";
import type { EngineEvent } from "../src/protocol.ts";

const clients: EngineClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close(0);
});

function openClient(homeFolder = "home"): { client: EngineClient; events: EngineEvent[]; crashes: string[] } {
  const events: EngineEvent[] = [];
  const crashes: string[] = [];
  const client = new EngineClient({
    homeFolder,
    workerFile: new URL("./children/odd-engine.mjs", import.meta.url),
    onEvent: (event) => events.push(event),
    onCrash: (reason) => crashes.push(reason),
  });
  clients.push(client);
  return { client, events, crashes };
}
const ask = (client: EngineClient, file: string) => client.request("inspect", { sessionId: "s", file });

it("[EX20] the worker is started by the first request and answers by name", async () => {
  const { client } = openClient();
  expect(client.isRunning).toBe(false);
  expect(await ask(client, "x")).toEqual({
    name: "inspect",
    given: { sessionId: "s", file: "x" },
    homeFolder: "home",
  });
  expect(client.isRunning).toBe(true);
});

it("[EX20] what it refuses comes with its code, and what it tells by itself as an event", async () => {
  const { client, events } = openClient();
  await expect(ask(client, "refuse")).rejects.toMatchObject({ message: "no such workspace", code: "not_found" });
  await ask(client, "event");
  expect(events).toEqual([{ type: "problem", sessionId: "s", reason: "told" }]);
});

it.each([
  ["throw", /the engine fell over/],
  ["exit", /out of memory, say/],
])(
  "[EX21] one that ends by itself (%s) is told of once with what it said last, and the next request starts another",
  async (how, reason) => {
    const { client, crashes } = openClient();
    const unanswered = [ask(client, how), ask(client, "x")];
    for (const request of unanswered) await expect(request).rejects.toMatchObject({ code: "engine_gone" });
    expect(crashes).toEqual([expect.stringMatching(reason)]);
    expect(await ask(client, "y")).toMatchObject({ given: { file: "y" } });
  },
);

it("[EX20] closing lets it end, and ends one that hangs; nothing is asked of it afterwards", async () => {
  for (const homeFolder of ["home", "hang"]) {
    const { client, crashes } = openClient(homeFolder);
    await ask(client, "x");
    await client.close(homeFolder === "hang" ? 50 : 30_000);
    await client.close(30_000);
    await expect(ask(client, "x")).rejects.toMatchObject({ code: "engine_gone" });
    expect({ isRunning: client.isRunning, crashes }).toEqual({ isRunning: false, crashes: [] });
  }
});
