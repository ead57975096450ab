/**
 * Many clients of a relay in a process of their own, so that what they use is not counted as the relay's and they do
 * not slow the one who measures. Asked by `forkProgram` of `programs.mjs`.
 */
import { countRecords, joinRoom } from "../relay-client.mjs";
import { createUpdates } from "../updates.mjs";

/** Sockets that are opened at a time. */
const joinsAtOnce = 50;

let clients = [];
let receivedCount = 0;
let awaited;

const answers = {
  /** `perRoom` sockets in each room; answers when all are in step. */
  join: async ({ relay, rooms, perRoom }) => {
    receivedCount = 0;
    const places = rooms.flatMap((room, at) => Array.from({ length: perRoom }, () => ({ room, at })));
    for (let from = 0; from < places.length; from += joinsAtOnce) {
      const joining = places.slice(from, from + joinsAtOnce).map((place) => join(relay, place));
      clients.push(...(await Promise.all(joining)));
    }
  },
  /** Answers when all sockets together have got so many records since they joined. */
  receive: ({ count }) =>
    new Promise((resolve) => {
      awaited = { count, resolve };
      checkReceived();
    }),
  /**
   * Appends at a steady rate, room after room, by the first socket of each; answers with the milliseconds each took to
   * reach the second socket of its room.
   */
  appendInTurn: async ({ bytes, perSecond, count }) => {
    const writers = clients.filter(({ at }, index) => clients[index - 1]?.at !== at);
    const updates = createUpdates(Math.ceil(count / writers.length), bytes);
    const startMs = performance.now();
    const latenciesMs = [];
    const arrivals = [];
    for (let at = 0; at < count; at++) {
      await waitUntil(startMs + (at * 1000) / perSecond);
      const writer = writers[at % writers.length];
      arrivals.push(nextArrival(clients[clients.indexOf(writer) + 1]).then((ms) => latenciesMs.push(ms)));
      writer.sendUpdate(updates[Math.floor(at / writers.length)]);
    }
    await Promise.all(arrivals);
    return latenciesMs;
  },
  leave: async () => {
    await Promise.all(clients.map((client) => client.close()));
    clients = [];
  },
};

process.on("message", async ({ question, ...details }) => {
  process.send({ question, answer: await answers[question](details) });
});
process.on("disconnect", () => process.exit());

async function join(relay, { room, at }) {
  const waiting = [];
  const client = await joinRoom(relay, room, {
    onUpdate: (update) => {
      const count = countRecords(update);
      receivedCount += count;
      for (const arrive of waiting.splice(0, count)) arrive();
      checkReceived();
    },
  });
  // What came to bring it into step is not counted.
  receivedCount = 0;
  return { ...client, at, waiting };
}

/** Milliseconds from now until the client gets its next record. */
function nextArrival({ waiting }) {
  const startMs = performance.now();
  return new Promise((resolve) => {
    waiting.push(() => resolve(performance.now() - startMs));
  });
}

async function waitUntil(timeMs) {
  // A timer fires up to a millisecond late; what is due is then done in the same turn, as real load would come.
  const delayMs = timeMs - performance.now();
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
}

function checkReceived() {
  if (awaited === undefined || receivedCount < awaited.count) return;
  const { resolve } = awaited;
  awaited = undefined;
  resolve();
}
