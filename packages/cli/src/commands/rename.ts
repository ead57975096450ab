import { type CliCommand, defineCliCommand } from "../command.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice rename`: gives a session another name, on all devices. */
export const renameCommand: CliCommand = defineCliCommand({
  name: "rename",
  summary: "Give a session another name, on all devices",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    name: { type: "positional", required: true, description: "Its new name" },
  },
  examples: ["coppice rename 3f2a 'Fix the flaky login test'"],
  throughSync: { readsInput: () => false },
  run: ({ session: reference, name }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      if (name.trim() === "") throw new UsageError("The name is empty; write the session's new name, in quotes.");
      const { listed, session } = await findWritableSession(opened, reference, context);
      await opened.workspace.renameSession(listed.id, name);
      const newName = await session.storage.getSessionName();
      const report = new SaveReport(output, opened);
      await report.wait(session);
      // Other devices find a session by its name in the list, which is a room of its own.
      await report.wait(opened.workspace);
      output.print(`now called ${toPrintableLine(newName ?? name)}`);
      report.print();
      output.printJson(
        toShape("rename", {
          session: toSessionReference({ id: listed.id, name: newName }),
          waiting: report.waitingEntries,
        }),
      );
    }),
});
