import type { SessionCursor, SharedSession } from "@coppice/client";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { entryMarkNotes } from "../entry-line.ts";
import { toCursorShape, toDeviceReference, toSessionReference, toShape, toTreeEntry } from "../json-shapes.ts";
import { findSession, relayWaitMs, withHome } from "../open-home.ts";
import { renderTree, type TreeCursor } from "../render-tree.ts";
import { toPrintableLine } from "../terminal-text.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice tree`: the whole tree with everybody's cursor. */
export const treeCommand: CliCommand = defineCliCommand({
  name: "tree",
  summary: "Draw the tree with its branches, labels and where every device stands",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    fold: {
      type: "string",
      description: "Keep only this many lines at both ends of a stretch without branches",
      valueHint: "N",
    },
  },
  notes: [
    ...entryMarkNotes,
    "◀ NAME where a device stands: this one always, another one while its `coppice sync` or agent runs",
    "[NAME] a label; ├─ and └─ where branches begin; ⋮ lines that --fold leaves out",
  ],
  examples: ["coppice tree 'Fix the flaky login test'", "coppice tree 3f2a --fold 3"],
  run: ({ session: reference, fold }, context) =>
    withHome(context, async (opened) => {
      const foldLines = parseFold(fold);
      const { output } = context;
      const { listed, session, isFresh } = await findSession(opened, reference, context);
      if (isFresh) await waitForCursors(session, opened.workspace.deviceNames());
      const entries = await session.storage.getEntries();
      const labelByEntryId = await readLabels(session);
      const leafId = session.getDeviceLeafId();
      const cursors = session.getCursors();
      const ownId = opened.workspace.device.id;
      const shownCursors: TreeCursor[] = [
        // This very process is a replica of its own for a moment; what counts for the user is the device's leaf.
        { name: opened.workspace.device.name, leafId },
        ...cursors.filter((cursor) => cursor.deviceId !== ownId).map(toTreeCursor),
      ];
      output.print(`${toPrintableLine(listed.name ?? listed.id)} · ${entries.length} entries`);
      const paintCursor = (text: string): string => output.paint("cyan", text);
      for (const line of renderTree(
        { entries, labelByEntryId, cursors: shownCursors },
        { columns: output.columns, fold: foldLines, paintCursor },
      )) {
        output.print(line);
      }
      output.printJson(
        toShape("tree", {
          session: toSessionReference(listed),
          leafId,
          entries: entries.map((entry) => {
            const author = session.getAuthor(entry.id);
            return toTreeEntry(entry, labelByEntryId.get(entry.id), author && toDeviceReference(author));
          }),
          cursors: cursors.filter((cursor) => !cursor.self).map(toCursorShape),
        }),
      );
    }),
});

// The relay sends cursors right after the content; without another device at work there is none to wait for.
const cursorGraceMs = 300;

/** Waits until every other device of the workspace has a cursor, or as long as cursors keep coming, at most 2 s. */
async function waitForCursors(session: SharedSession, deviceNames: ReadonlyMap<string, string>): Promise<void> {
  const hasAll = (): boolean => {
    const present = new Set(session.getCursors().map((cursor) => cursor.deviceId));
    return [...deviceNames.keys()].every((deviceId) => present.has(deviceId));
  };
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(grace);
      clearTimeout(limit);
      stop();
      resolve();
    };
    let grace = setTimeout(finish, cursorGraceMs);
    const limit = setTimeout(finish, relayWaitMs);
    const stop = session.subscribe((change) => {
      if (change !== "cursors") return;
      clearTimeout(grace);
      grace = setTimeout(finish, cursorGraceMs);
      if (hasAll()) finish();
    });
    if (hasAll()) finish();
  });
}

async function readLabels({ storage }: SharedSession): Promise<Map<string, string>> {
  const labelByEntryId = new Map<string, string>();
  for (const { targetId } of await storage.findEntries("label")) {
    const label = await storage.getLabel(targetId);
    if (label !== undefined) labelByEntryId.set(targetId, label);
  }
  return labelByEntryId;
}

function toTreeCursor({ deviceId, deviceName, leafId }: SessionCursor): TreeCursor {
  return { name: deviceName ?? deviceId, leafId };
}

function parseFold(fold: string | undefined): number | undefined {
  if (fold === undefined) return undefined;
  if (!/^[1-9][0-9]*$/.test(fold)) throw new UsageError(`--fold takes a number of lines from 1, not "${fold}".`);
  return Number(fold);
}
