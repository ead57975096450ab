import { type CliCommand, defineCliCommand } from "../command.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { resolveSession, withHome } from "../open-home.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** `coppice archive`: puts a session away, or takes it out again. */
export const archiveCommand: CliCommand = defineCliCommand({
  name: "archive",
  summary: "Put a session away on all devices: it stays as it is and leaves the list",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    undo: { type: "boolean", description: "Take it out again" },
  },
  examples: ["coppice archive 'Fix the flaky login test'", "coppice archive 3f2a --undo"],
  run: ({ session: reference, undo }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const { workspace } = opened;
      const listed = await resolveSession(opened, reference);
      const archived = undo !== true;
      if (listed.archived !== archived)
        await (archived ? workspace.archiveSession(listed.id) : workspace.unarchiveSession(listed.id));
      const report = new SaveReport(output, opened);
      await report.wait(workspace);
      const title = toPrintableLine(listed.name ?? listed.id);
      output.print(
        archived
          ? `${title} is put away; \`coppice sessions --archived\` lists it, \`coppice archive SESSION --undo\` takes it out`
          : `${title} is back in the list`,
      );
      report.print();
      output.printJson(
        toShape("archive", { session: toSessionReference(listed), archived, waiting: report.waitingEntries }),
      );
    }),
});
