import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeEntry, shownIdChars } from "../entry-line.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import { resolveEntryId } from "../resolve-reference.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice label`: puts a label on an entry, or takes it away. */
export const labelCommand: CliCommand = defineCliCommand({
  name: "label",
  summary: "Put a label on an entry, or take it away, on all devices",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    entry: { type: "positional", required: true, description: "The entry" },
    name: { type: "positional", required: false, description: "The label; it takes the place of the one there is" },
    remove: { type: "boolean", description: "Take the entry's label away" },
  },
  examples: ["coppice label 'Fix the flaky login test' 9c1d 'works'", "coppice label 3f2a 9c1d --remove"],
  throughSync: { readsInput: () => false },
  run: ({ session: reference, entry: entryReference, name, remove }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const label = parseLabel(name, remove === true);
      const { listed, session } = await findWritableSession(opened, reference, context);
      const { storage } = session;
      const entryId = resolveEntryId(await storage.getEntries(), entryReference);
      await session.session.appendLabel(entryId, label);
      const report = new SaveReport(output, opened);
      await report.wait(session);
      const entry = await storage.getEntry(entryId);
      const end = toPrintableLine(entryId).slice(-shownIdChars);
      const shown = entry === undefined ? end : `${end}  ${describeEntry(entry).mark}  ${describeEntry(entry).text}`;
      output.print(label === undefined ? `no label on ${shown}` : `[${toPrintableLine(label)}] on ${shown}`);
      report.print();
      output.printJson(
        toShape("label", {
          session: toSessionReference(listed),
          entryId,
          label: label ?? null,
          waiting: report.waitingEntries,
        }),
      );
    }),
});

/** The label to set; undefined takes it away. */
function parseLabel(name: string | undefined, remove: boolean): string | undefined {
  if (remove) {
    if (name === undefined) return undefined;
    throw new UsageError("--remove takes the label away, so no new one goes with it; leave one of them out.");
  }
  const label = name?.trim();
  if (label) return label;
  throw new UsageError("The label is missing; write it after the entry, or --remove to take the entry's label away.");
}
