import { type CliCommand, defineCliCommand } from "../command.ts";
import { toListedSession, toShape } from "../json-shapes.ts";
import { relayWaitMs, remarkStale, withHome } from "../open-home.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** `coppice sessions`: lists the sessions of the workspace. */
export const sessionsCommand: CliCommand = defineCliCommand({
  name: "sessions",
  summary: "List the sessions of the workspace, newest first",
  args: {
    archived: { type: "boolean", description: "List those that were put away instead" },
  },
  examples: ["coppice sessions", "coppice sessions --json"],
  run: ({ archived = false }, context) =>
    withHome(context, async ({ home, workspace }) => {
      const { output } = context;
      if (!(await workspace.waitUntilSynced(relayWaitMs))) remarkStale(context, home, workspace.status());
      const sessions = workspace.listSessions({ archived });
      for (const { id, name, createdAt, cwd = "" } of sessions) {
        const title = name === undefined ? "(no name)" : toPrintableLine(name);
        output.print(
          `${toPrintableLine(id)}  ${createdAt.slice(0, 16).replace("T", " ")}  ${title}  ${toPrintableLine(cwd)}`,
        );
      }
      if (sessions.length === 0)
        output.print(archived ? "no session is put away" : "no sessions yet; `coppice import FILE` brings one in");
      output.printJson(toShape("sessions", { sessions: sessions.map(toListedSession) }));
    }),
});
