/**
 * One session on two devices, one of them offline for a while. Everything is done by the `coppice` command, in two
 * homes that share nothing but the relay; at the end both must hold the same entries in the same order.
 *
 *   node run.mjs [FILE] [--once] [--data DIR]
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { followCoppice, runCoppice, runCoppiceJson } from "./coppice-process.mjs";
import { countReadableEntries, readWordsOfFolder } from "./scan-store.mjs";

const sampleFile = fileURLToPath(new URL("./flaky-login-test.jsonl", import.meta.url));
const usage = "npm start -- [FILE] [--once] [--data DIR]";

/** Long-running commands, stopped at the end whatever happens. */
const running = new Set();
/** Settles at Ctrl-C, whenever it comes. */
const interrupted = new Promise((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, resolve);
});

async function main() {
  const options = readOptions();
  const folder = options.dataFolder ?? (await mkdtemp(join(tmpdir(), "coppice-")));
  const relayFolder = join(folder, "relay");
  const laptop = makeDevice(folder, "laptop");
  const desktop = makeDevice(folder, "desktop");
  say("demo", `two devices and a relay, data in ${folder}`);

  const relay = start(["serve", "--data", relayFolder, "--port", await findPort(laptop)]);
  const { url } = await relay.waitFor((line) => line.coppice === "serve");
  say("relay", `${url}   keeps sealed bytes only`);

  await laptop.run(["init", url, "--name", "laptop"]);
  const { files } = await laptop.runJson(["import", options.file]);
  const { session, written, known, skippedCount } = files[0];
  say(
    "laptop",
    `imported "${session.name ?? basename(options.file)}"   ${written + known} entries${skippedCount > 0 ? `, ${skippedCount} lines skipped` : ""}`,
  );
  const { link, webLink } = await laptop.runJson(["link"]);

  await desktop.run(["init", link, "--name", "desktop"]);
  const startedMs = performance.now();
  const once = await desktop.runJson(["sync", "--once"]);
  const fetched = once.sessions.find(({ id }) => id === session.id);
  say("desktop", `synced ${fetched.entries} entries in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);

  const laptopSync = start(["sync", ...laptop.homeArgs]);
  await laptopSync.waitFor((line) => line.session?.id === session.id && line.session.relay.state === "live");

  // The desktop is offline: no sync runs there, and its commands do not connect.
  const laptopLeaf = await laptop.say(session.id, ["Add a test that fails without the fix", "Done, 1 file"]);
  const desktopLeaf = await desktop.say(
    session.id,
    ["Look for the same mistake elsewhere", "Found it in 2 more files"],
    ["--offline"],
  );
  const { sessions } = await desktop.runJson(["status", "--offline"]);
  const waiting = sessions.find(({ id }) => id === session.id).pending;
  say("desktop", `offline ·  laptop +2 entries ·  desktop +2 on another branch (${waiting} waiting)`);

  const desktopSync = start(["sync", ...desktop.homeArgs]);
  const total = fetched.entries + 4;
  const isComplete = (line) =>
    line.session?.id === session.id &&
    line.session.entries === total &&
    line.session.pending === 0 &&
    line.session.relay.state === "live";
  const { session: backOnline } = await desktopSync.waitFor(isComplete);
  await laptopSync.waitFor(isComplete);
  say("desktop", `online  ·  ${backOnline.pending} waiting`);

  console.log();
  process.stdout.write(await laptop.run(["tree", session.id, "--fold", "2"]));
  console.log();

  const [laptopLog, desktopLog] = await Promise.all([laptop.readLog(session.id), desktop.readLog(session.id)]);
  const [laptopTree, desktopTree] = await Promise.all([
    laptop.runJson(["tree", session.id]),
    desktop.runJson(["tree", session.id]),
  ]);
  const readable = countReadableEntries(laptopLog, await readWordsOfFolder(relayFolder));
  const findings = [
    [laptopLog.length === total, `the laptop has ${laptopLog.length} entries instead of ${total}`],
    [laptopLog.join("\n") === desktopLog.join("\n"), "the devices differ in their entries or in the order of them"],
    [laptopTree.leafId === laptopLeaf, "the laptop's leaf was moved"],
    [desktopTree.leafId === desktopLeaf, "the desktop's leaf was moved"],
    [hasCursor(laptopTree, "desktop", desktopLeaf), "the laptop does not see the desktop's cursor"],
    [hasCursor(desktopTree, "laptop", laptopLeaf), "the desktop does not see the laptop's cursor"],
    [readable === 0, `words of ${readable} entries can be read in the relay's store`],
    // The same search must find something where the text is plain, or its zero would say nothing.
    [
      countReadableEntries(laptopLog, laptopLog.join("\n")) > 0,
      "the search for words finds none even in the session itself",
    ],
  ];
  const problems = findings.filter(([isFine]) => !isFine).map(([, problem]) => problem);
  if (problems.length > 0) throw new Error(`The two devices do not agree: ${problems.join("; ")}.`);
  console.log(`✔ same ${total} entries, same order, both leaves kept · the relay could read ${readable} of them`);

  if (options.once) return;
  console.log(`
Join with a browser on this computer; the link holds the key:
  ${webLink}

Join from another terminal, in the folder of the clone:
  npx coppice init '${link}' --name third --home ${join(folder, "third")}
  npx coppice tree ${session.id} --home ${join(folder, "third")}
  npx coppice append ${session.id} --role user 'Hello from the third' --home ${join(folder, "third")}

Ctrl-C ends the relay and both devices; the data stays in ${folder}.`);
  await interrupted;
}

function makeDevice(folder, name) {
  const homeArgs = ["--home", join(folder, name)];
  const run = (args) => runCoppice([...args, ...homeArgs]);
  const runJson = (args) => runCoppiceJson([...args, ...homeArgs]);
  return {
    homeArgs,
    run,
    runJson,
    /** Appends a question and an answer; settles with the id of the answer, which is the new leaf. */
    say: async (sessionId, [question, answer], more = []) => {
      await runJson(["append", sessionId, "--role", "user", question, ...more]);
      return (await runJson(["append", sessionId, "--role", "assistant", answer, ...more])).entryId;
    },
    readLog: async (sessionId) => (await run(["log", sessionId, "--raw"])).split("\n").filter((line) => line !== ""),
  };
}

/** A home keeps its relay's address, so a second run on the same data needs the same port; a first one takes any. */
async function findPort(laptop) {
  const known = await laptop.runJson(["link"]).catch(() => undefined);
  return known === undefined ? "0" : new URL(known.link).port;
}

function hasCursor(tree, name, leafId) {
  return tree.cursors.some((cursor) => cursor.name === name && cursor.leafId === leafId);
}

function start(args) {
  const command = followCoppice(args);
  running.add(command);
  return command;
}

function say(who, what) {
  console.log(`${who.padEnd(8)} ${what}`);
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      options: { once: { type: "boolean", default: false }, data: { type: "string" } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new Error(`one file at a time, not ${positionals.length}`);
    return {
      once: values.once,
      dataFolder: values.data === undefined ? undefined : resolvePath(values.data),
      file: positionals[0] === undefined ? sampleFile : resolvePath(positionals[0]),
    };
  } catch (error) {
    console.error(`${error.message.split(". ")[0]}; usage: ${usage}`);
    process.exit(2);
  }
}

try {
  await Promise.race([main(), interrupted]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  // Devices first, so that their last words still reach the relay.
  for (const command of [...running].reverse()) await command.stop();
}
