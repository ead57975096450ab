import type { SessionEntry } from "@coppice/core";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeAuthor, describeEntry, describeTime, entryMarkNotes, shownIdChars } from "../entry-line.ts";
import { readExactEntries } from "../exact-json.ts";
import { toDeviceReference, toSessionReference, toShape } from "../json-shapes.ts";
import { findSession, withHome } from "../open-home.ts";
import { cutToColumns, toPrintableLine } from "../terminal-text.ts";

/** `coppice log`: all entries in append order. */
export const logCommand: CliCommand = defineCliCommand({
  name: "log",
  summary: "List all entries in the order every device agrees on, moves included",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    raw: {
      type: "boolean",
      description: "Print the exact JSON text of each entry, one per line, without the session's header",
    },
  },
  notes: entryMarkNotes,
  examples: ["coppice log 'Fix the flaky login test'", "coppice log 3f2a --raw > entries.jsonl"],
  run: ({ session: reference, raw }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const { listed, session } = await findSession(opened, reference, context);
      const { storage } = session;
      const entries = await storage.getEntries();
      if (raw) {
        for (const { id } of entries) {
          const json = await storage.getEntryJson(id);
          if (json === undefined) output.remark(`entry ${toPrintableLine(id)} is left out: its content cannot be read`);
          else output.printRaw(json);
        }
        return;
      }
      if (output.json) {
        const exactEntries = await readExactEntries(storage, entries);
        output.printJson(
          toShape("log", {
            session: toSessionReference(listed),
            entries: entries.map(({ id }, index) => {
              const author = session.getAuthor(id);
              const device = author === undefined ? null : toDeviceReference(author);
              return { position: index + 1, device, entry: exactEntries[index] };
            }),
          }),
        );
        return;
      }
      const entryById = new Map(entries.map((entry) => [entry.id, entry]));
      for (const [index, entry] of entries.entries()) {
        const { mark, text } = describeEntry(entry);
        const device = describeAuthor(session.getAuthor(entry.id));
        const id = toPrintableLine(entry.id).slice(-shownIdChars).padEnd(shownIdChars);
        const line = `${String(index + 1).padStart(5)}  ${id}  ${describeTime(entry)}  ${device}  ${mark}  ${text}${describeTarget(entry, entryById)}`;
        output.print(cutToColumns(line, output.columns));
      }
    }),
});

/** What the entry that a move, a label or an edit names says, so that nobody has to look its id up. */
function describeTarget(entry: SessionEntry, entryById: ReadonlyMap<string, SessionEntry>): string {
  const targetId =
    entry.type === "leaf" || entry.type === "label" || entry.type === "context_edit" ? entry.targetId : null;
  const target = targetId === null ? undefined : entryById.get(targetId);
  return target === undefined ? "" : ` (${describeEntry(target).text})`;
}
