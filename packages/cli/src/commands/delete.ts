import { SessionError } from "@coppice/core";
import { type CliCommand, type CommandContext, defineCliCommand } from "../command.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { relayWaitMs, resolveSession, withHome } from "../open-home.ts";
import { readAnswer } from "../read-answer.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice delete`: deletes a session for everybody. */
export const deleteCommand: CliCommand = defineCliCommand({
  name: "delete",
  summary: "Delete a session for everybody, for good",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    yes: { type: "boolean", description: "Do not ask" },
  },
  notes: [
    "It leaves the list on every device, and the relay deletes what it has of it. What a device holds stays on its disk:",
    "`coppice sessions --deleted` lists it there, and `coppice fork` makes a new session of it, with entries that had not",
    "been sent. `coppice archive` puts a session away instead.",
  ],
  examples: ["coppice delete 'Fix the flaky login test'", "coppice delete 3f2a --yes"],
  run: ({ session: reference, yes }, context) =>
    withHome(context, async (opened) => {
      const { output, offline } = context;
      const { home, workspace } = opened;
      const listed = await resolveSession(opened, reference);
      const title = toPrintableLine(listed.name ?? listed.id);
      if (yes !== true) await confirm(title, context);
      const isConfirmed = await workspace.deleteSession(listed.id, offline ? 0 : relayWaitMs);
      const report = new SaveReport(output, opened);
      await report.wait(workspace);
      output.print(`${title} is deleted; it leaves the list on the other devices as they hear of it`);
      if (home.relay !== undefined)
        output.print(
          isConfirmed
            ? "the relay has deleted what it had of it"
            : "the relay has not confirmed that it deleted what it has of it; it is asked again until it has",
        );
      output.printJson(
        toShape("delete", {
          session: toSessionReference(listed),
          confirmed: isConfirmed,
          waiting: report.waitingEntries,
        }),
      );
    }),
});

async function confirm(title: string, { output, stdin }: CommandContext): Promise<void> {
  if (stdin.isTTY !== true)
    throw new UsageError(
      "Deleting cannot be undone, and nobody can be asked here; write --yes to delete all the same.",
    );
  output.remark(
    `Delete "${title}" on every device and at the relay? What devices hold stays on their disks, and cannot be sent any more.`,
  );
  output.remark("Type yes to delete it:");
  if ((await readAnswer(stdin)) !== "yes")
    throw new SessionError("closed", `Nothing was deleted; "${title}" stays as it is.`);
}
