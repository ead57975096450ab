import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { completeCommand, describeCommands, parseCommand, type TypedCommand } from "./command-words.ts";
import type { PiCoppice } from "./pi-coppice.ts";
import type { ListedDevice } from "./protocol.ts";

/** Registers `/coppice` with everything that can follow it. `find`: what there is of the session that pi runs now. */
export function registerCommands(pi: ExtensionAPI, find: () => PiCoppice | undefined): void {
  pi.registerCommand("coppice", {
    description: "Share this session with your other devices (/coppice help)",
    getArgumentCompletions: completeCommand,
    handler: async (args, ctx) => {
      const coppice = find();
      const command = parseCommand(args);
      if (coppice === undefined) return;
      if (command === undefined) {
        ctx.ui.notify(`Coppice has no command "${args.trim()}".\n${describeCommands()}`, "warning");
        return;
      }
      try {
        await runCommand(command, coppice, ctx);
      } catch (error) {
        // What a command came to is said where it was typed; pi itself goes on.
        ctx.ui.notify(`Coppice: ${error instanceof Error ? error.message : String(error)}`, "error");
      }
    },
  });
}

async function runCommand(
  { words, argument }: TypedCommand,
  coppice: PiCoppice,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const say = (text: string): void => ctx.ui.notify(text, "info");
  switch (words) {
    case "":
      return say(await coppice.describe());
    case "on":
    case "on project":
      return say(coppice.switchOn(words === "on" ? "session" : "project"));
    case "off":
    case "off project":
      return say(await coppice.switchOff(words === "off" ? "session" : "project"));
    case "pause":
      return say(await coppice.pause());
    case "resume":
      return say(coppice.resume());
    case "devices": {
      const { devices } = await coppice.listDevices();
      return say(devices.map(describeDevice).join("\n"));
    }
    case "help":
      return say(describeCommands());
    default:
      throw new Error(`/coppice ${words} ${argument} is not there yet.`);
  }
}

function describeDevice({ name, isThis, isPresent, isRunning }: ListedDevice): string {
  const remarks = [isThis && "this device", isPresent && "has this session open", isRunning && "an agent runs"];
  return [name, ...remarks.filter((remark) => remark !== false)].join(" · ");
}
