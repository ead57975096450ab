import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeEntry } from "../entry-line.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import { resolveEntryId } from "../resolve-reference.ts";
import { SaveReport } from "../save-report.ts";
import { toPrintableLine } from "../terminal-text.ts";

/** The word that names the place before the first entry. */
const startWord = "root";

/** `coppice move`: makes another entry this device's leaf; the next append starts a branch there. */
export const moveCommand: CliCommand = defineCliCommand({
  name: "move",
  summary: "Stand on another entry, so that the next message continues from there",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    entry: { type: "positional", required: true, description: `The entry, or "${startWord}" for before the first one` },
  },
  examples: ["coppice move 'Fix the flaky login test' 9c1d"],
  throughSync: { readsInput: () => false },
  run: ({ session: reference, entry: entryReference }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const { listed, session } = await findWritableSession(opened, reference, context);
      const { storage } = session;
      const leafId = entryReference === startWord ? null : resolveEntryId(await storage.getEntries(), entryReference);
      await session.session.moveTo(leafId);
      const report = new SaveReport(output, opened);
      await report.wait(session);
      const entry = leafId === null ? undefined : await storage.getEntry(leafId);
      output.print(
        entry === undefined
          ? "now before the first entry"
          : `now on ${toPrintableLine(entry.id)}  ${describeEntry(entry).mark}  ${describeEntry(entry).text}`,
      );
      report.print();
      output.printJson(
        toShape("move", { session: toSessionReference(listed), leafId, waiting: report.waitingEntries }),
      );
    }),
});
