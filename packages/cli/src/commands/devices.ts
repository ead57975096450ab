import { type CliCommand, defineCliCommand } from "../command.ts";
import { toDeviceReference, toShape } from "../json-shapes.ts";
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
      const devices = [...workspace.deviceNames()].map(([deviceId, deviceName]) => ({
        ...toDeviceReference({ deviceId, deviceName }),
        self: deviceId === workspace.device.id,
      }));
      for (const { id, name, self } of devices)
        output.print(`${toPrintableLine(id)}  ${toPrintableLine(name ?? "")}${self ? "  (this device)" : ""}`);
      output.printJson(toShape("devices", { devices }));
    }),
});
