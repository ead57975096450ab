/**
 * An agent works without a network; another goes on in the same session on another device; then both work at the same
 * time, each offline, and are merged. Everything that is claimed is checked.
 * Run: `node examples/offline-agent/run.mjs`, after a build.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import { openDevice, patienceMs, startAgent } from "./device.mjs";
import { textOf } from "./model.mjs";

/** Tells what happens line by line; rejects when anything is not as it must be. */
export async function runExample(print = console.log) {
  const folder = await mkdtemp(join(tmpdir(), "coppice-offline-agent-"));
  // What is open, so that it is closed whatever happens.
  const open = [];
  const opened = (thing) => {
    open.push(thing);
    return thing;
  };
  try {
    await tell({ folder, opened, print });
  } finally {
    for (const thing of open.reverse()) await thing.close();
    await rm(folder, { recursive: true });
  }
}

async function tell({ folder, opened, print }) {
  const workspaceKey = randomBytes(32);

  // 1. There is no relay yet. The agent works all the same, and what it did is on the disk.
  const alone = opened(await openDevice({ folder, name: "laptop", workspaceKey }));
  const made = await alone.workspace.createSession({ cwd: process.cwd(), name: "Count the trees" });
  const first = startAgent(made);
  await first.ask("How many trees stand here?");
  await first.ask('tool count {"word":"trees"}');
  const offline = await made.storage.getEntries();
  await alone.close();
  print(`offline    the laptop's agent wrote ${offline.length} entries, one tool call among them`);

  // 2. A relay comes up. The laptop starts again, and the desktop hears of the session for the first time.
  const relayStore = opened(await openLmdbStore({ path: join(folder, "relay") }));
  const relay = opened(await openRelay({ store: relayStore, auth: "open" }));
  const laptop = opened(await openDevice({ folder, name: "laptop", workspaceKey, relay: relay.url }));
  const desktop = opened(await openDevice({ folder, name: "desktop", workspaceKey, relay: relay.url }));
  const onLaptop = await laptop.workspace.openSession(made.id);
  assert.deepEqual(await onLaptop.storage.getEntries(), offline);
  assert.ok(await laptop.workspace.waitUntilAcknowledged(patienceMs));
  assert.ok(await onLaptop.waitUntilAcknowledged(patienceMs));
  assert.ok(await desktop.workspace.waitUntilSynced(patienceMs));
  const onDesktop = await desktop.workspace.openSession(made.id);
  assert.ok(await onDesktop.waitUntilSynced(patienceMs));
  assert.deepEqual(await onDesktop.storage.getEntries(), offline);
  assert.equal(await onDesktop.session.getLeafId(), await onLaptop.session.getLeafId());
  print("connected  the desktop has every one of them and stands where the laptop stands");

  // 3. The relay is gone, and both go on from the same entry at the same time.
  await relay.close();
  const agents = { laptop: startAgent(onLaptop), desktop: startAgent(onDesktop) };
  await Promise.all([
    agents.laptop.ask("Count the oaks"),
    agents.desktop.ask("Count the birches").then(() => agents.desktop.ask('tool count {"word":"birches"}')),
  ]);
  const leaves = { laptop: await onLaptop.session.getLeafId(), desktop: await onDesktop.session.getLeafId() };
  print("apart      both agents went on from there, without hearing of each other");

  // 4. The relay is there again, at the same address.
  opened(await openRelay({ store: relayStore, auth: "open", port: relay.port }));
  for (const shared of [onLaptop, onDesktop]) shared.resync();
  for (const shared of [onLaptop, onDesktop]) assert.ok(await shared.waitUntilAcknowledged(patienceMs));
  for (const shared of [onLaptop, onDesktop]) await waitForEntries(shared, [leaves.laptop, leaves.desktop]);
  const entries = await onLaptop.storage.getEntries();
  assert.deepEqual(await onDesktop.storage.getEntries(), entries);
  assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length);
  assert.deepEqual((await onLaptop.storage.getChildren(null)).length, 1);
  assert.deepEqual(new Set((await onLaptop.storage.getTips()).map(({ id }) => id)), new Set(Object.values(leaves)));
  assert.equal(await onLaptop.session.getLeafId(), leaves.laptop);
  assert.equal(await onDesktop.session.getLeafId(), leaves.desktop);
  print(`merged     one tree of ${entries.length} entries on both, nothing twice, two branches, each agent on its own`);

  // 5. A branch that came in changes nothing for an agent on another one, until it is asked to go there.
  await agents.laptop.ask("And the beeches?");
  assert.deepEqual(askedOf(agents.laptop.requests.at(-1)).slice(-2), ["Count the oaks", "And the beeches?"]);
  assert.ok(await onLaptop.waitUntilAcknowledged(patienceMs));
  await waitForEntries(onDesktop, [await onLaptop.session.getLeafId()]);
  const { kind } = await onDesktop.resume("latest");
  assert.equal(kind, "latest");
  await agents.desktop.ask("And the limes?");
  assert.deepEqual(askedOf(agents.desktop.requests.at(-1)), [
    ...askedOf(agents.laptop.requests.at(-1)),
    "And the limes?",
  ]);
  print(
    "resumed    the desktop's agent went over to the laptop's branch: its model was sent the oaks, not the birches",
  );
}

/** Settles when all of these entries are here; that they come is what the relay is for. */
function waitForEntries(shared, ids) {
  return new Promise((resolve, reject) => {
    const check = async () => {
      for (const id of ids) if ((await shared.storage.getEntry(id)) === undefined) return;
      stop();
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => reject(new Error(`not here after ${patienceMs} ms: ${ids}`)), patienceMs);
    const stop = shared.storage.subscribe(() => check().catch(reject));
    check().catch(reject);
  });
}

/** What the user has said, as a model was sent it. */
function askedOf(messages) {
  return messages.filter(({ role }) => role === "user").map(textOf);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runExample();
