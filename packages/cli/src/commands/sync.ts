import { SessionError } from "@coppice/core";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { followWorkspace } from "../follow-workspace.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { withHome } from "../open-home.ts";
import { syncOnce } from "../sync-once.ts";
import { takeCommands } from "../through-sync/take-commands.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice sync`: keeps every session pushed and fetched, or does so once. */
export const syncCommand: CliCommand = defineCliCommand({
  name: "sync",
  summary: "Keep every session of the workspace pushed and fetched until stopped",
  args: {
    once: { type: "boolean", description: "End when everything is pushed and fetched" },
  },
  examples: ["coppice sync", "coppice sync --once"],
  run: ({ once }, context) =>
    withHome(
      context,
      async ({ home, workspace }) => {
        const { output } = context;
        if (context.offline)
          throw new UsageError("sync needs the relay, so it does not go with --offline; leave one of them out.");
        if (home.relay === undefined) {
          throw new SessionError(
            "not_found",
            "This workspace has no relay to sync with; run `coppice init` with the relay's address first.",
          );
        }
        if (!once) {
          const stopSignal = context.listenForStop();
          const server = await takeCommands({ home, workspace, context, stopSignal });
          try {
            await followWorkspace(workspace, home.relay, output, stopSignal);
          } finally {
            await server.close();
          }
          return;
        }
        const synced = await syncOnce(workspace, home.relay, output);
        const fetched = synced.reduce((sum, session) => sum + session.fetched, 0);
        output.print(
          `synced ${synced.length} ${synced.length === 1 ? "session" : "sessions"} · ${fetched} entries fetched · 0 waiting`,
        );
        output.printJson(
          toShape("sync", {
            sessions: synced.map((session) => ({
              ...toSessionReference(session),
              entries: session.entries,
              fetched: session.fetched,
            })),
            waiting: 0,
          }),
        );
      },
      "device",
    ),
});
