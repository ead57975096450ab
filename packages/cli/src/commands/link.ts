import { formatPairingLink, formatWebLink } from "@coppice/client";
import { readHome } from "@coppice/home";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";
import { requireRelay } from "../require-relay.ts";

/** `coppice link`: prints the text that pairs another device. */
export const linkCommand: CliCommand = defineCliCommand({
  name: "link",
  summary: "Print the link that lets another device join this workspace; it holds the key, so treat it as a password",
  args: {
    web: { type: "boolean", description: "Print the one for a browser: it opens the app that the relay serves" },
  },
  examples: ["coppice link", "coppice link --web"],
  run: async ({ web }, { output, homeFolder }) => {
    const home = await readHome(homeFolder);
    requireRelay(home);
    const link = formatPairingLink(home);
    const webLink = formatWebLink(home);
    output.print(web === true ? webLink : link);
    output.printJson(toShape("link", { link, webLink }));
  },
});
