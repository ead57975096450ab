import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders of one device on which pi runs, all below one that nothing else uses. */
export interface PiHome {
  readonly folder: string;
  /** `HOME` of its processes. */
  readonly home: string;
  /** pi's settings, `PI_CODING_AGENT_DIR`. */
  readonly agentDir: string;
  /** Its session files, directly in it. */
  readonly sessionDir: string;
  /** The project it works in, unless it is told another. */
  readonly cwd: string;
  /** `COPPICE_HOME`. */
  readonly coppiceHome: string;
  /** What its model was asked, a request a line; not there before the first. */
  readonly requestsPath: string;
}

/** How a pi is started on its home. */
export interface PiOptions {
  readonly home: PiHome;
  /** Instead of the home's own project. */
  readonly cwd?: string;
  /** Extensions beside the one that brings the model, by path. */
  readonly extensions?: readonly string[];
  /** More arguments: `["--session", path]`, `["--continue"]`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How fast `slow N` streams; as fast as it can without it. */
  readonly tokensPerSecond?: number;
}

/** What a model was asked, as pi hands it over: system messages stand among the messages. */
export interface ModelRequest {
  readonly model: string;
  readonly reasoning?: string;
  // biome-ignore lint/suspicious/noExplicitAny: output of another program; every reader checks what it uses.
  readonly messages: readonly any[];
}

const testExtension = fileURLToPath(new URL("../fixtures/pi-test-extension.mjs", import.meta.url));

/** Makes the folders of a device below `folder`, with these settings of pi's. */
export async function createPiHome(folder: string, settings: object = {}): Promise<PiHome> {
  const home: PiHome = {
    folder,
    home: join(folder, "home"),
    agentDir: join(folder, "agent"),
    sessionDir: join(folder, "sessions"),
    cwd: join(folder, "project"),
    coppiceHome: join(folder, "coppice"),
    requestsPath: join(folder, "requests.jsonl"),
  };
  for (const path of [home.home, home.agentDir, home.sessionDir, home.cwd]) await mkdir(path, { recursive: true });
  await writeFile(join(home.agentDir, "settings.json"), JSON.stringify(settings));
  return home;
}

/** Every request of this home's pis to their model, oldest first. */
export async function readModelRequests({ requestsPath }: Pick<PiHome, "requestsPath">): Promise<ModelRequest[]> {
  const text = await readFile(requestsPath, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** What follows `node` on the command line. */
export function piArguments(cli: string, { home, extensions = [], args = [] }: PiOptions): string[] {
  const paths = [testExtension, ...extensions].flatMap((path) => ["-e", path]);
  return [
    cli,
    "--offline",
    "--no-extensions",
    ...paths,
    "--model",
    "faux/plain",
    "--session-dir",
    home.sessionDir,
    ...args,
  ];
}

/** The whole environment: nothing of the tests' own gets through but the path to programs. */
export function piEnvironment({ home, env = {}, tokensPerSecond }: PiOptions): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: home.home,
    PI_CODING_AGENT_DIR: home.agentDir,
    COPPICE_HOME: home.coppiceHome,
    FAUX_REQUESTS: home.requestsPath,
    ...(tokensPerSecond === undefined ? {} : { FAUX_TOKENS_PER_SECOND: String(tokensPerSecond) }),
    ...env,
  };
}
