/**
 * Two clients of a room that has nothing to do with what happens elsewhere on its relay, in a process of their own so
 * that only the relay is shared: `node bystander-process.js URL`. Every 25 ms one appends a record of 1 kB and the other waits for
 * it. Tells the parent, when asked, how long each took since the last question.
 */
import * as Y from "yjs";
import { openWireClient } from "./wire-client.ts";

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error("usage: bystander-process.js URL");
const doc = new Y.Doc();
let tookMs: number[] = [];
const reader = await openWireClient(url);
const writer = await openWireClient(url);
for (const client of [reader, writer]) {
  const answered = client.next("syncStep1");
  client.send({ type: "syncStep1", stateVector: new Map() });
  await answered;
  void client.closed.then((code) => {
    throw new Error(`a bystander was closed with ${code}`);
  });
}
doc.on("update", (update: Uint8Array) => writer.send({ type: "update", update }));
const append = async (): Promise<void> => {
  const arrived = reader.next("update");
  const startedAt = performance.now();
  doc.getArray("entries").push([new Uint8Array(1_000)]);
  await arrived;
  tookMs.push(performance.now() - startedAt);
  setTimeout(() => void append(), 25);
};
process.on("message", () => {
  process.send?.(tookMs);
  tookMs = [];
});
process.on("disconnect", () => process.exit(0));
await append();
process.send?.("ready");
