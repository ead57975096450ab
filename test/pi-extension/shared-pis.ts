import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type JsonLine, runCommandJson, runCommandWell } from "../src/command-process.ts";
import { createPiHome, type PiHome, type PiOptions } from "../src/pi-home.ts";
import { type AnswerDialog, type PiProcess, type PiRecord, startPi } from "../src/pi-process.ts";
import { type RelayProcess, startRelayProcess } from "../src/processes.ts";

/** The extension as `pi -e` takes it: the package's folder, as it is built. */
export const coppiceExtension: string = fileURLToPath(new URL("../../packages/pi", import.meta.url));

/** A relay and devices with pi on them; each its own folders. */
export interface SharedPis {
  /** The one that runs, or ran last. */
  readonly relay: RelayProcess;
  /** Starts the relay again, on its folder and port. */
  restartRelay(): Promise<void>;
  /** Makes a device of the workspace; the first one makes the workspace. */
  addDevice(name: string): Promise<PiHome>;
  /** Starts pi with the extension on a device. */
  start(home: PiHome, options?: Partial<PiOptions>, answer?: AnswerDialog): Promise<PiProcess>;
  /** Ends everything and removes all folders. */
  close(): Promise<void>;
}

/** Starts a relay on an empty folder. */
export async function startSharedPis(): Promise<SharedPis> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-pis-"));
  let relay = await startRelayProcess(join(folder, "relay"));
  const running: PiProcess[] = [];
  let link: string | undefined;
  return {
    get relay() {
      return relay;
    },
    async restartRelay() {
      relay = await startRelayProcess(relay.dataDir, relay.port);
    },
    async addDevice(name) {
      const home = await createPiHome(join(folder, name));
      await runCommandWell(["init", link ?? relay.url, "--name", name, "--home", home.coppiceHome]);
      link ??= (await runCommandJson(["link", "--home", home.coppiceHome])).link as string;
      return home;
    },
    async start(home, options = {}, answer) {
      const pi = await startPi({ home, extensions: [coppiceExtension], ...options }, answer);
      running.push(pi);
      return pi;
    },
    async close() {
      for (const pi of running) await pi.kill();
      await relay.kill();
      await rm(folder, { recursive: true });
    },
  };
}

/** Fetches what there is and gives the entries that a device has of a session, in log order. */
export async function readEntries({ coppiceHome }: PiHome, sessionId: string): Promise<JsonLine[]> {
  await runCommandWell(["sync", "--once", "--home", coppiceHome]);
  const { entries } = await runCommandJson(["log", sessionId, "--home", coppiceHome]);
  return entries.map(({ entry }: JsonLine) => entry);
}

/** The entries that pi's file has of its one session, with the header. */
export async function readPiFile({ sessionDir }: PiHome): Promise<{ header: PiRecord; entries: PiRecord[] }> {
  const [name = ""] = await readdir(sessionDir);
  const text = await readFile(join(sessionDir, name), "utf8");
  const [header, ...entries] = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { header, entries };
}

/** Without the records of moves, which no file of pi has. */
export const withoutMoves = (entries: readonly JsonLine[]): JsonLine[] => entries.filter(({ type }) => type !== "leaf");

/** Everything is at the relay. */
export const isLive = (text: string | undefined): boolean =>
  /^coppice: live · \d devices? · 0 waiting$/.test(text ?? "");

/** The text of the first message to the user that passes, from a position of pi's records on. */
export async function waitForNotice(pi: PiProcess, passes: (text: string) => boolean, from = 0): Promise<string> {
  const isNotice = ({ method, message }: PiRecord): boolean => method === "notify" && passes(message);
  return (await pi.waitFor("a message", isNotice, from)).message;
}
