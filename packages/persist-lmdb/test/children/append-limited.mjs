// Appends updates to the log named in each line "<log> <bytes>", all those of one line ("a 10, b 20") in one turn, and
// answers with one JSON array of positions or error codes. A size of "read" answers with the log's positions.
import { createInterface } from "node:readline";
import { openLmdbStore } from "../../dist/index.js";

// Without a listener the system ends a process that writes behind its file size limit, instead of failing the write.
process.on("SIGXFSZ", () => undefined);
process.on("unhandledRejection", (error) => {
  process.stdout.write(`unhandled ${error}\n`);
});

const store = await openLmdbStore({ path: process.argv[2] });
const logs = { a: await store.openLog("a"), b: await store.openLog("b") };
process.stdout.write("open\n");

async function run(name, size) {
  if (size === "read") {
    const seqs = [];
    for await (const { seq } of logs[name].read()) seqs.push(seq);
    return seqs;
  }
  try {
    return await logs[name].append(new Uint8Array(Number(size)).fill(7));
  } catch (error) {
    return `${error.name} ${error.code}: ${error.message}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answers = line.split(", ").map((command) => run(...command.split(" ")));
  process.stdout.write(`${JSON.stringify(await Promise.all(answers))}\n`);
}
await store.close();
