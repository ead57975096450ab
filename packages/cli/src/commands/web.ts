import { formatWebLink } from "@coppice/client";
import { readHome } from "@coppice/home";
import { createAppHandler } from "@coppice/web/server";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";
import { requireRelay } from "../require-relay.ts";
import { parsePort, serveApp } from "../serve-app.ts";
import { waitForStop } from "../wait-for-stop.ts";

/** The same each time: a browser keeps what it stores by the address, port included. */
const defaultPort = 4601;

/** `coppice web`: the app for browsers, served from this device. */
export const webCommand: CliCommand = defineCliCommand({
  name: "web",
  summary:
    "Serve the app for browsers from this device, so that nobody else can change it; prints the link that opens it",
  args: {
    host: {
      type: "string",
      default: "127.0.0.1",
      description: "Address to listen on",
      valueHint: "HOST",
    },
    port: {
      type: "string",
      default: String(defaultPort),
      description: "Port to listen on; 0 takes a free one, under which a browser has nothing of an earlier one's",
      valueHint: "PORT",
    },
  },
  examples: ["coppice web"],
  notes: ["The link holds the workspace's key: treat it as a password."],
  run: async ({ host, port: portText }, { output, homeFolder, listenForStop }) => {
    const port = parsePort(portText);
    const home = await readHome(homeFolder);
    const relay = requireRelay(home);
    const stopSignal = listenForStop();
    const server = await serveApp(createAppHandler({ relays: [relay] }), host, port);
    try {
      const link = formatWebLink(home, server.url);
      output.print(link);
      output.remark("the link holds the workspace's key: treat it as a password");
      output.printJson(toShape("web", { url: server.url, port: server.port, link }));
      await waitForStop(stopSignal);
    } finally {
      await server.close();
    }
  },
});
