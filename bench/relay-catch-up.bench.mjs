/**
 * A client that comes to a room of 1,000 or 10,000 entries of 2 kB right after the relay was started: with nothing, and
 * with all but the last ten entries; the latter once more while others have the room open. It applies what it gets to a
 * Y.Doc and is done when it holds everything. The peers load a room from one file with its whole state.
 */
import * as Y from "yjs";
import { runFigures } from "./measure.mjs";
import { joinRoom } from "./relay-client.mjs";
import { coppice, findRelays, startRelay } from "./relays.mjs";
import { createUpdates } from "./updates.mjs";

const entryBytes = 2048;
const behindCount = 10;

const kinds = findRelays().filter(({ holdsRooms }) => holdsRooms);

for (const entryCount of [1000, 10_000]) {
  const updates = createUpdates(entryCount, entryBytes);
  const almostAll = mergeInSteps(updates.slice(0, -behindCount));
  const missingBytes = updates.slice(-behindCount).reduce((sum, { length }) => sum + length, 0);
  const contestants = [];
  for (const kind of kinds) {
    const relay = await startRelay(kind, { keep: true });
    await fillRoom(relay, updates);
    contestants.push(relay);
  }
  const isCoppice = ({ name }) => name === coppice.name;
  const whole = `Cold open of ${entryCount.toLocaleString("en")} entries`;
  const behind = `${behindCount} of ${entryCount.toLocaleString("en")} entries behind`;
  const budgetOf = (atMost) => (relay) => (isCoppice(relay) ? [{ atMost }] : undefined);
  await runFigures({
    rounds: 3,
    contestants,
    measure: async (relay) => {
      await relay.restart();
      const before = await relay.usage();
      const open = await measureCatchUp(relay, entryCount);
      const after = await relay.usage();
      await relay.restart();
      const cold = await measureCatchUp(relay, entryCount, almostAll);
      const staying = await joinRoom(relay, "room", { stateVector: vectorOf(almostAll) });
      const warm = await measureCatchUp(relay, entryCount, almostAll);
      await staying.close();
      return {
        openUs: open.us,
        firstBytesUs: open.firstBytesUs,
        grownBytes: after.peakRssBytes - before.rssBytes,
        coldUs: cold.us,
        coldBytes: cold.bytes,
        warmUs: warm.us,
        warmBytes: warm.bytes,
      };
    },
    figures: {
      openUs: { title: `${whole} (wall clock)`, unit: "us", budgetsOf: budgetOf(1_000_000) },
      firstBytesUs: {
        title: `${whole}: from connecting to the first of them (wall clock)`,
        unit: "us",
        budgetsOf: budgetOf(50_000),
      },
      grownBytes: {
        title: `${whole}: growth of the relay's memory, at its peak`,
        unit: "bytes",
        budgetsOf: budgetOf(60e6),
      },
      coldUs: { title: `${behind}, room not loaded (wall clock)`, unit: "us", budgetsOf: budgetOf(100_000) },
      coldBytes: {
        title: `${behind}, room not loaded: bytes received`,
        unit: "bytes",
        budgetsOf: budgetOf(Math.round(missingBytes * 1.05)),
      },
      warmUs: { title: `${behind}, room loaded (wall clock)`, unit: "us", budgetsOf: budgetOf(100_000) },
      warmBytes: {
        title: `${behind}, room loaded: bytes received`,
        unit: "bytes",
        budgetsOf: budgetOf(Math.round(missingBytes * 1.05)),
      },
    },
  });
  for (const relay of contestants) await relay.remove();
}

async function fillRoom(relay, updates) {
  const doc = new Y.Doc();
  const full = watchUntilFull(doc, updates.length);
  const reader = await joinRoom(relay, "room", { onUpdate: (update) => Y.applyUpdate(doc, update) });
  const writer = await joinRoom(relay, "room");
  for (const update of updates) writer.sendUpdate(update);
  await full;
  await writer.close();
  await reader.close();
}

async function measureCatchUp(relay, entryCount, held) {
  const doc = new Y.Doc();
  if (held !== undefined) Y.applyUpdate(doc, held);
  const stateVector = Y.encodeStateVector(doc);
  const full = watchUntilFull(doc, entryCount);
  let bytes = 0;
  let firstUs;
  const startUs = performance.now() * 1000;
  const client = await joinRoom(relay, "room", {
    stateVector,
    onBytes: (count) => {
      bytes += count;
    },
    onUpdate: (update) => {
      firstUs ??= performance.now() * 1000;
      Y.applyUpdate(doc, update);
    },
  });
  await full;
  const us = performance.now() * 1000 - startUs;
  await client.close();
  return { us, firstBytesUs: firstUs - startUs, bytes };
}

function watchUntilFull(doc, entryCount) {
  const entries = doc.getArray("entries");
  return new Promise((resolve) => {
    doc.on("update", () => {
      if (entries.length === entryCount) resolve();
    });
  });
}

function vectorOf(update) {
  return Y.encodeStateVectorFromUpdate(update);
}

/** One update of many: small groups first, because Yjs takes seconds to merge thousands at once. */
function mergeInSteps(updates) {
  const groupSize = 32;
  let merged = updates;
  while (merged.length > 1) {
    const groups = [];
    for (let at = 0; at < merged.length; at += groupSize) groups.push(Y.mergeUpdates(merged.slice(at, at + groupSize)));
    merged = groups;
  }
  return merged[0];
}
