import { type CliCommand, defineCliCommand } from "../command.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import { resolveEntryId } from "../resolve-reference.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice fork`: makes a session of its own from a part of another. */
export const forkCommand: CliCommand = defineCliCommand({
  name: "fork",
  summary: "Make a session of its own from another, whole or up to an entry",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    entry: {
      type: "positional",
      required: false,
      description: "Take over the branch that ends at this entry (default: everything)",
    },
    at: { type: "boolean", description: "Take the entry over too; this is what happens anyway" },
    before: { type: "boolean", description: "Stop before the entry, which must be a user's message" },
    name: { type: "string", description: "Name of the new session (default: that of the other)", valueHint: "NAME" },
  },
  notes: ["A session that was deleted can be forked too: what this device has of it begins a new one."],
  examples: ["coppice fork 'Fix the flaky login test' 9c1d --name 'Another way'", "coppice fork 3f2a"],
  run: ({ session: reference, entry: entryReference, at, before, name }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      if (at && before) throw new UsageError("--at and --before are two places; leave one of them out.");
      if ((at || before) && entryReference === undefined)
        throw new UsageError(`--${at ? "at" : "before"} needs an entry; write it after the session.`);
      const { listed, session: source } = await findWritableSession(opened, reference, context, true);
      const entryId =
        entryReference === undefined ? undefined : resolveEntryId(await source.storage.getEntries(), entryReference);
      const forkName = name?.trim() || listed.name;
      const fork = await opened.workspace.forkSession(listed.id, {
        ...(entryId === undefined ? {} : { entryId, position: before ? "before" : "at" }),
        // A branch need not hold the entry that names the session.
        ...(forkName === undefined ? {} : { name: forkName }),
      });
      const report = new SaveReport(output, opened);
      await report.wait(fork);
      await report.wait(opened.workspace);
      const entries = (await fork.storage.getEntries()).length;
      output.print(`${toPrintableLine(fork.id)}  ${toPrintableLine(forkName ?? "(no name)")} · ${entries} entries`);
      report.print();
      output.printJson(
        toShape("fork", {
          session: toSessionReference({ id: fork.id, name: forkName }),
          from: toSessionReference(listed),
          entries,
          waiting: report.waitingEntries,
        }),
      );
    }),
});
