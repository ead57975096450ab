import { cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningCommand, runCommandJson, runCommandWell, startCommand } from "./command-process.ts";
import { createPiHome, type PiHome, type PiOptions } from "./pi-home.ts";
import { type PiProcess, type PiRecord, startPi } from "./pi-process.ts";

/** How a session is gone on with on a device: by the command, or by what is typed in pi. */
export type OpeningWay = "by command" | "in pi";

/** Entries as they come to a device that only looks. */
export interface PiWatch {
  /** Settles when entries with all of these ids have come. */
  waitForAll(ids: readonly string[]): Promise<void>;
  /** Per id, how long after pi had made the entry it came, in ms; both by this machine's clock. */
  readonly delaysMs: ReadonlyMap<string, number>;
}

/** A relay and devices of one workspace, all real processes; the devices have a project folder of the same path. */
export class PiLab {
  readonly folder: string;
  readonly project: string;
  readonly #running = new Set<{ kill(): Promise<void> }>();
  #relay: { readonly command: RunningCommand; readonly port: number } | undefined;
  #port = 0;
  #link: string | undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.project = join(folder, "project");
  }

  /** Opens a lab with a relay that runs. */
  static async open(): Promise<PiLab> {
    const lab = new PiLab(await mkdtemp(join(tmpdir(), "coppice-pi-lab-")));
    await mkdir(lab.project);
    await lab.startRelay();
    return lab;
  }

  /** Starts `coppice serve`, again at the same address when there was one before. */
  async startRelay(): Promise<void> {
    const args = ["serve", "--data", join(this.folder, "relay"), "--port", String(this.#port)];
    const command = startCommand(args);
    this.#running.add({ kill: () => command.stop("SIGKILL") });
    const { port } = await command.waitForLine((line) => line.coppice === "serve");
    this.#port = port;
    this.#relay = { command, port };
  }

  /** SIGKILL to the relay. */
  async killRelay(): Promise<void> {
    await this.#relay?.command.stop("SIGKILL");
  }

  /** Pairs a new device; the first one makes the workspace. `settings` are pi's. */
  async addDevice(name: string, settings?: object): Promise<PiHome> {
    const home = await createPiHome(join(this.folder, name), settings);
    const invitation = this.#link ?? `ws://127.0.0.1:${this.#port}`;
    await runCommandWell(["init", invitation, "--name", name, "--home", home.coppiceHome]);
    this.#link ??= (await runCommandJson(["link", "--home", home.coppiceHome])).link as string;
    return home;
  }

  /** A copy of a device's pi, sessions and settings, that has nothing to do with the workspace. */
  async copyPi(source: PiHome, name: string): Promise<PiHome> {
    const home = await createPiHome(join(this.folder, name));
    for (const part of ["agentDir", "sessionDir"] as const) await cp(source[part], home[part], { recursive: true });
    return home;
  }

  /** Starts pi with the extension. */
  start(home: PiHome, options: Partial<PiOptions> = {}): Promise<PiProcess> {
    return this.startPlain(home, { extensions: [coppiceExtension], ...options });
  }

  /** Starts pi without it. */
  async startPlain(home: PiHome, options: Partial<PiOptions> = {}): Promise<PiProcess> {
    const pi = await startPi({ home, cwd: this.project, ...options });
    this.#running.add(pi);
    return pi;
  }

  /**
   * Goes on with a session in pi on a device: by `coppice open` before pi starts, or by `/coppice open` in a pi that has
   * just been started. Settles when it is in step.
   */
  async open(home: PiHome, sessionId: string, way: OpeningWay): Promise<PiProcess> {
    if (way === "in pi") {
      const pi = await this.start(home);
      const from = pi.records.length;
      await pi.prompt(`/coppice open ${sessionId}`);
      await pi.waitFor("the opened session", (record) => isLive(record), from);
      return pi;
    }
    const args = ["open", sessionId, "--in", "pi", "--no-start", "--home", home.coppiceHome];
    const { home: HOME, agentDir: PI_CODING_AGENT_DIR, sessionDir: PI_CODING_AGENT_SESSION_DIR } = home;
    const env = { HOME, PI_CODING_AGENT_DIR, PI_CODING_AGENT_SESSION_DIR };
    const { file } = await runCommandJson(args, { cwd: this.project, env });
    return this.continue(home, file);
  }

  /** Starts pi with the extension on a session file; settles when it is in step. */
  async continue(home: PiHome, file: string): Promise<PiProcess> {
    const pi = await this.start(home, { args: ["--session", file] });
    await waitUntilLive(pi);
    return pi;
  }

  /** Starts to look at everything that comes to a device from now on. */
  async watch({ coppiceHome }: PiHome): Promise<PiWatch> {
    const delaysMs = new Map<string, number>();
    const command = startCommand(["watch", "--home", coppiceHome], ({ entry }) => {
      if (entry !== undefined) delaysMs.set(entry.id, Date.now() - Date.parse(entry.timestamp));
    });
    this.#running.add({ kill: () => command.stop("SIGKILL") });
    await command.waitForLine(({ sessions }) => sessions !== undefined);
    return {
      delaysMs,
      async waitForAll(ids) {
        const count = ids.length;
        await command
          .waitForLine(() => ids.every((id) => delaysMs.has(id)))
          .catch((error: unknown) => {
            const missing = ids.filter((id) => !delaysMs.has(id));
            throw new Error(`${missing.length} of ${count} entries have not come: ${missing}`, { cause: error });
          });
      },
    };
  }

  /** Fetches what the relay has; nothing is left to be sent either. */
  async sync({ coppiceHome }: PiHome): Promise<void> {
    await runCommandWell(["sync", "--once", "--home", coppiceHome]);
  }

  /** The exact texts a device has of a session, in log order. */
  async readTexts({ coppiceHome }: PiHome, sessionId: string): Promise<string[]> {
    const text = await runCommandWell(["log", sessionId, "--raw", "--offline", "--home", coppiceHome]);
    return text.split("\n").filter((line) => line !== "");
  }

  /** Kills everything and removes all folders. */
  async close(): Promise<void> {
    for (const started of this.#running) await started.kill();
    await rm(this.folder, { recursive: true });
  }
}

/** The extension as `pi -e` takes it: the package's folder, as it is built. */
/** The extension, as `pi -e` takes it. */
export const coppiceExtension: string = fileURLToPath(new URL("../../packages/pi", import.meta.url));

/** pi's one session file of a device: its path, and its lines without line ends, the header first. */
export async function readPiFile({ sessionDir }: PiHome): Promise<{ path: string; id: string; lines: string[] }> {
  const [name = "", ...more] = await readdir(sessionDir);
  if (more.length > 0) throw new Error(`${sessionDir} has more files than one: ${[name, ...more]}`);
  const path = join(sessionDir, name);
  const lines = (await readFile(path, "utf8")).split("\n");
  if (lines.pop() !== "") throw new Error(`${path} ends in the middle of a line`);
  return { path, id: JSON.parse(lines[0] ?? "{}").id, lines };
}

/** Without the records of moves, which no file of pi has. */
export function withoutMoves(texts: readonly string[]): string[] {
  return texts.filter((text) => JSON.parse(text).type !== "leaf");
}

/** Settles when the extension says that the relay has everything. */
export async function waitUntilLive(pi: PiProcess): Promise<void> {
  const last = pi.records.findLastIndex((record) => record.method === "setStatus");
  await pi.waitFor("a session in step", isLive, Math.max(0, last));
}

function isLive({ method, statusKey, statusText }: PiRecord): boolean {
  return (
    method === "setStatus" && statusKey === "coppice" && /^coppice: live · \d devices? · 0 waiting$/.test(statusText)
  );
}
