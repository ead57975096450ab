import type { SessionCursor } from "@coppice/client";
import { findShownEntry, type SessionTreeView } from "./session-node.ts";
import { toShownLine } from "./shown-text.ts";

/** How many colours of devices the design has: `--device-1` and so on. */
const deviceColours = 8;

/** Somebody's place, as it is drawn. */
export interface CursorMark {
  readonly deviceId: string;
  readonly name: string;
  /** 1 to `deviceColours`. */
  readonly colour: number;
  /** This very device. */
  readonly isSelf: boolean;
  /** An agent runs there. */
  readonly isRunning: boolean;
}

/** Cursors by what they stand on. */
export interface CursorMarks {
  /** By id of the shown entry. */
  readonly byEntryId: ReadonlyMap<string, readonly CursorMark[]>;
  /** Before the first entry. */
  readonly atStart: readonly CursorMark[];
  /** On entries that are not here. */
  readonly elsewhere: readonly CursorMark[];
}

/**
 * The colour of a device: those of a workspace take turns in the order in which they first wrote, so that it is the same
 * on every screen; one that is not in the list has a colour that its id decides.
 */
export function deviceColour(deviceId: string, deviceIds: readonly string[]): number {
  const at = deviceIds.indexOf(deviceId);
  if (at >= 0) return (at % deviceColours) + 1;
  let sum = 0;
  for (const char of deviceId) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 65_521;
  return (sum % deviceColours) + 1;
}

/** The name people know a device by, as a line that hides nothing; else the end of its id. */
export function deviceName(deviceId: string, name: string | undefined): string {
  return toShownLine(name ?? "") || `device ${deviceId.slice(-6)}`;
}

/** Where everybody stands. Several replicas of one device on one entry are one mark. */
export function placeCursors(
  tree: SessionTreeView,
  cursors: readonly SessionCursor[],
  deviceIds: readonly string[],
): CursorMarks {
  const byEntryId = new Map<string, CursorMark[]>();
  const atStart: CursorMark[] = [];
  const elsewhere: CursorMark[] = [];
  for (const cursor of cursors) {
    const entry = findShownEntry(tree, cursor.leafId);
    let marks = cursor.leafId === null || tree.has(cursor.leafId) ? atStart : elsewhere;
    if (entry !== null) {
      marks = byEntryId.get(entry.id) ?? [];
      byEntryId.set(entry.id, marks);
    }
    const at = marks.findIndex(({ deviceId }) => deviceId === cursor.deviceId);
    const known = marks[at];
    const mark: CursorMark = {
      deviceId: cursor.deviceId,
      name: deviceName(cursor.deviceId, cursor.deviceName),
      colour: deviceColour(cursor.deviceId, deviceIds),
      isSelf: cursor.sameDevice || known?.isSelf === true,
      isRunning: cursor.running === true || known?.isRunning === true,
    };
    if (known === undefined) marks.push(mark);
    else marks[at] = mark;
  }
  return { byEntryId, atStart, elsewhere };
}
