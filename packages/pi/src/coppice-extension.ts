import { homedir } from "node:os";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { SessionSync } from "./session-sync.ts";

/** Events at which an entry may have been appended since the one before. */
const looksAfter = [
  "message_start",
  "context",
  "tool_execution_start",
  "turn_end",
  "agent_settled",
  "model_select",
  "thinking_level_select",
  "session_info_changed",
  "session_tree",
  "session_compact",
] as const;

/** The extension as pi loads it: Coppice in pi. Starts nothing until a session is switched on. */
export function coppiceExtension(pi: ExtensionAPI): void {
  let sync: SessionSync | undefined;

  pi.on("session_start", (_event, ctx) => {
    sync = new SessionSync({
      pi,
      ctx,
      homeFolder: process.env.COPPICE_HOME ?? join(homedir(), ".local", "share", "coppice"),
      onDeclined: async () => undefined,
    });
    sync.show();
    if (process.env.COPPICE_PI_ON) sync.turnOn();
  });
  pi.on("session_shutdown", async () => {
    const ending = sync;
    sync = undefined;
    await ending?.end();
  });
  pi.on("input", () => sync?.warnOfRunners());
  pi.on("agent_start", () => {
    sync?.tick();
    sync?.setRunning(true);
  });
  pi.on("agent_settled", () => sync?.setRunning(false));
  for (const name of looksAfter) {
    // One signature for each name in pi's types; all of them take a handler that returns nothing.
    (pi.on as (event: string, handler: () => void) => void)(name, () => sync?.tick());
  }
}
