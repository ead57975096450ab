import { join, resolve } from "node:path";
import { ensureWritableFolder } from "@coppice/home";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { createRelayLogger, openRelay, type Relay, type RelayLogLevel } from "@coppice/relay";
import { createAppHandler, isAppBuilt } from "@coppice/web/server";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";
import { describePortInUse, parsePort } from "../serve-app.ts";
import { markServed, refuseServedFolder, unmarkServed } from "../served-folder.ts";
import { UsageError } from "../usage-error.ts";
import { waitForStop } from "../wait-for-stop.ts";

const defaultPort = 4600;
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/** `coppice serve`: the relay, and the app for browsers beside it. */
export const serveCommand: CliCommand = defineCliCommand({
  name: "serve",
  summary: "Run the relay that devices meet at; it keeps sealed bytes and cannot read them",
  args: {
    host: {
      type: "string",
      default: "127.0.0.1",
      description: "Address to listen on; this machine only, for now",
      valueHint: "HOST",
    },
    port: {
      type: "string",
      default: String(defaultPort),
      description: "Port to listen on; 0 takes a free one",
      valueHint: "PORT",
    },
    data: {
      type: "string",
      description: "Folder for the relay's data (default: relay/ in the home)",
      valueHint: "DIR",
    },
    auth: {
      type: "string",
      default: "open",
      description: "open: whoever reaches the port may use it",
      valueHint: "open",
    },
    log: {
      type: "string",
      default: "off",
      description: "What to report on stderr, one JSON object per line: off, error, warn or info",
      valueHint: "LEVEL",
    },
  },
  examples: ["coppice serve", "coppice serve --port 0 --data ./relay-data"],
  run: async ({ host, port: portText, data, auth, log }, { output, homeFolder, listenForStop }) => {
    checkAuth(auth, host);
    const port = parsePort(portText);
    const level = parseLogLevel(log);
    const logger = level === undefined ? undefined : createRelayLogger(level);
    const dataFolder = data === undefined ? join(homeFolder, "relay") : resolve(data);
    await ensureWritableFolder(dataFolder, "--data");
    const stopSignal = listenForStop();
    // A clone that has only been compiled has none.
    const hasApp = isAppBuilt();
    const store = await openLmdbStore({ path: dataFolder, compactOnOpen: true });
    try {
      await refuseServedFolder(dataFolder);
      const relay = await listen({
        store,
        host,
        port,
        auth: "open",
        ...(hasApp && { app: createAppHandler() }),
        ...(logger !== undefined && { logger }),
      });
      try {
        await markServed(dataFolder, relay.url);
        // A log that begins with what began it: without it an empty log could be one of a relay that never came up.
        logger?.info({ url: relay.url, data: dataFolder }, "the relay listens");
        output.print(`relay ${relay.url}  keeps sealed bytes only, in ${dataFolder}`);
        const page = hasApp ? `${relay.url.replace(/^ws/, "http")}/` : null;
        if (page !== null) output.print(`browser ${page}  \`coppice link --web\` prints the address with the key`);
        output.printJson(toShape("serve", { url: relay.url, port: relay.port, data: dataFolder, page }));
        const failure = relay.failed.then((error) => {
          throw error;
        });
        await Promise.race([waitForStop(stopSignal), failure]);
      } finally {
        await relay.close();
        await unmarkServed(dataFolder);
        logger?.info("the relay has ended");
      }
    } finally {
      await store.close();
    }
  },
});

function checkAuth(auth: string, host: string): void {
  if (auth === "token") {
    throw new UsageError(
      "--auth token comes in a later version; until then the relay is for this machine only: use --auth open.",
    );
  }
  if (auth !== "open") throw new UsageError(`--auth takes open, not "${auth}".`);
  if (!loopbackHost.test(host)) {
    throw new UsageError(
      `With --auth open anybody who reaches ${host} could write to the relay, so it listens on this machine only: use --host 127.0.0.1.`,
    );
  }
}

function parseLogLevel(text: string): RelayLogLevel | undefined {
  if (text === "off") return undefined;
  if (text === "error" || text === "warn" || text === "info") return text;
  throw new UsageError(`--log takes off, error, warn or info, not "${text}".`);
}

async function listen(
  options: Parameters<typeof openRelay>[0] & { readonly host: string; readonly port: number },
): Promise<Relay> {
  try {
    return await openRelay(options);
  } catch (error) {
    throw describePortInUse(error, options.host, options.port) ?? error;
  }
}
