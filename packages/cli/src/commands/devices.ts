import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";
import { relayWaitMs, remarkStale, withHome } from "../open-home.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** `coppice devices`: who is in this workspace. */
export const devicesCommand: CliCommand = defineCliCommand({
  name: "devices",
  summary: "List the devices of the workspace",
  args: {},
  examples: ["coppice devices", "coppice devices --json"],
  run: (_args, context) =>
    withHome(context, async ({ home, workspace }) => {
      const { output } = context;
      if (!(await workspace.waitUntilSynced(relayWaitMs))) remarkStale(context, home, workspace.status());
      const devices = workspace.devices();
      for (const { id, name, person, isThis, isFormer } of devices) {
        const whose = person === undefined ? "" : `  ${toPrintableLine(person)}`;
        const which = isThis ? "  (this device)" : isFormer ? "  (this home was copied from it)" : "";
        output.print(`${toPrintableLine(id)}  ${toPrintableLine(name)}${whose}${which}`);
      }
      output.printJson(
        toShape("devices", {
          devices: devices.map(({ id, name, person, isThis, isFormer }) => ({
            id,
            name,
            ...(person === undefined ? {} : { person }),
            self: isThis,
            ...(isFormer ? { former: true } : {}),
          })),
        }),
      );
    }),
});
