import { homedir } from "node:os";
import { findHomeFolder } from "@coppice/home";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { registerCommands } from "./pi-commands.ts";
import { PiCoppice } from "./pi-coppice.ts";

/** Events at which an entry may have been appended since the one before. */
const looksAfter = [
  "message_start",
  "context",
  "tool_execution_start",
  "turn_end",
  "model_select",
  "thinking_level_select",
  "session_info_changed",
  "session_tree",
  "session_compact",
] as const;

/** The extension as pi loads it: Coppice in pi. Starts nothing until a session is switched on. */
export function coppiceExtension(pi: ExtensionAPI): void {
  let coppice: PiCoppice | undefined;

  pi.on("session_start", (_event, ctx) => {
    const surroundings = { env: process.env, platform: process.platform, userFolder: homedir() };
    coppice = new PiCoppice(pi, ctx, findHomeFolder(undefined, surroundings));
    coppice.start();
  });
  pi.on("session_shutdown", async () => {
    const ending = coppice;
    coppice = undefined;
    await ending?.end();
  });
  pi.on("input", () => coppice?.sync.warnOfRunners());
  pi.on("agent_start", () => {
    coppice?.sync.tick();
    coppice?.setRunning(true);
  });
  pi.on("agent_settled", () => {
    coppice?.sync.tick();
    coppice?.setRunning(false);
  });
  for (const name of looksAfter) {
    // One signature for each name in pi's types; all of them take a handler that returns nothing.
    (pi.on as (event: string, handler: () => void) => void)(name, () => coppice?.sync.tick());
  }
  registerCommands(pi, () => coppice);
}
