import { type CliCommand, defineCliCommand } from "../command.ts";
import { toDeviceReference, toShape } from "../json-shapes.ts";
import { withHome } from "../open-home.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice device rename`: gives this device another name. */
export const deviceCommand: CliCommand = defineCliCommand({
  name: "device",
  summary: "Change this device: `device rename NAME` gives it another name, for everybody",
  args: {
    action: { type: "positional", required: true, description: "rename" },
    name: { type: "positional", required: true, description: "Its new name" },
  },
  examples: ["coppice device rename workstation"],
  run: ({ action, name }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const { workspace } = opened;
      if (action !== "rename") throw new UsageError(`device takes rename, not "${action}".`);
      if (name.trim() === "") throw new UsageError("The name is empty; write the device's new name.");
      await workspace.renameDevice(name);
      const { id: deviceId, name: deviceName } = workspace.device;
      const report = new SaveReport(output, opened);
      await report.wait(workspace);
      output.print(`this device is now called ${toPrintableLine(deviceName)}`);
      report.print();
      output.printJson(
        toShape("device-rename", {
          device: toDeviceReference({ deviceId, deviceName }),
          waiting: report.waitingEntries,
        }),
      );
    }),
});
