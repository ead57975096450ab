import { type CliCommand, defineCliCommand } from "../command.ts";
import { toListedSession, toShape } from "../json-shapes.ts";
import { relayWaitMs, remarkStale, withHome } from "../open-home.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice sessions`: lists the sessions of the workspace. */
export const sessionsCommand: CliCommand = defineCliCommand({
  name: "sessions",
  summary: "List the sessions of the workspace, newest first",
  args: {
    archived: { type: "boolean", description: "List those that were put away instead" },
    deleted: { type: "boolean", description: "List those that were deleted, and what of them is on this device alone" },
  },
  examples: ["coppice sessions", "coppice sessions --json"],
  run: ({ archived = false, deleted = false }, context) =>
    withHome(context, async ({ home, workspace }) => {
      const { output } = context;
      if (archived && deleted) throw new UsageError("--archived and --deleted are two lists; leave one of them out.");
      if (!(await workspace.waitUntilSynced(relayWaitMs))) remarkStale(context, home, workspace.status());
      const sessions = deleted
        ? workspace.listSessions({ deleted }).filter((session) => session.deleted)
        : workspace.listSessions({ archived });
      for (const { id, name, createdAt, cwd = "", unsent } of sessions) {
        const title = name === undefined ? "(no name)" : toPrintableLine(name);
        output.print(
          `${toPrintableLine(id)}  ${createdAt.slice(0, 16).replace("T", " ")}  ${title}  ${toPrintableLine(cwd)}${unsent ? `  ${unsent} unsent; \`coppice fork\` saves them` : ""}`,
        );
      }
      if (sessions.length === 0) output.print(describeNone(archived, deleted));
      output.printJson(toShape("sessions", { sessions: sessions.map(toListedSession) }));
    }),
});

function describeNone(archived: boolean, deleted: boolean): string {
  if (deleted) return "no session was deleted";
  return archived ? "no session is put away" : "no sessions yet; `coppice import FILE` brings one in";
}
