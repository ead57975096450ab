import { formatPairingLink } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { readHome } from "@coppice/home";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";

/** `coppice link`: prints the text that pairs another device. */
export const linkCommand: CliCommand = defineCliCommand({
  name: "link",
  summary: "Print the link that lets another device join this workspace; it holds the key, so treat it as a password",
  args: {},
  examples: ["coppice link"],
  run: async (_args, { output, homeFolder }) => {
    const home = await readHome(homeFolder);
    if (home.relay === undefined) {
      throw new SessionError(
        "not_found",
        "This workspace has no relay yet, so no other device can reach it; run `coppice init` with the relay's address first.",
      );
    }
    const link = formatPairingLink(home);
    output.print(link);
    output.printJson(toShape("link", { link }));
  },
});
