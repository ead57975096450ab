import type { SharedSession } from "@coppice/client";
import { useEntry } from "@coppice/react";
import { type CSSProperties, memo, type ReactNode } from "react";
import { describeEntry } from "../model/entry-words.ts";
import { countEntries, countOf } from "../model/format.ts";
import { toShownLine } from "../model/shown-text.ts";
import type { TreeEntryRow, TreeFoldRow, TreeNoteRow, TreeRow } from "../model/tree-rows.ts";
import { maxGuides } from "../model/tree-runs.ts";
import { DeviceMark } from "../parts/device-mark.tsx";

/** A row of the tree: its lines, what it says, who stands on it. */
export const TreeRowView = memo(function TreeRowView({
  session,
  row,
  onText,
}: {
  readonly session: SharedSession;
  readonly row: TreeRow;
  /** Told what an entry says, once that is known. */
  readonly onText: (id: string, text: string) => void;
}): ReactNode {
  return (
    <>
      <Guides row={row} />
      {row.kind === "entry" ? (
        <EntryCell session={session} row={row} onText={onText} />
      ) : row.kind === "fold" ? (
        <FoldCell row={row} />
      ) : (
        <NoteCell row={row} />
      )}
    </>
  );
});

/** Deep branches share the last columns, so that their text keeps its room. */
const maxColumns = 8;

function Guides({ row: { level, guides, joint } }: { readonly row: TreeRow }): ReactNode {
  const drawn = Math.min(level, maxColumns);
  const first = level - drawn;
  return (
    <span className="guides" aria-hidden="true" style={{ "--columns": drawn } as CSSProperties}>
      {Array.from({ length: drawn }, (_, index) => {
        const column = first + index;
        const isOwn = column === level - 1;
        const goesOn = column < maxGuides && ((guides >> column) & 1) === 1;
        const kind = isOwn && joint !== "none" ? joint : goesOn ? "line" : "empty";
        return <span key={index} className={`guide guide-${kind}`} />;
      })}
    </span>
  );
}

const roleNames: Readonly<Record<string, string>> = {
  u: "You",
  a: "Agent",
  t: "Tool",
  s: "System",
  b: "Command",
  c: "Message",
  "≡": "Summary",
};

function EntryCell({
  session,
  row,
  onText,
}: {
  session: SharedSession;
  row: TreeEntryRow;
  onText: (id: string, text: string) => void;
}): ReactNode {
  const content = useEntry(session, row.node.id);
  const words = content.state === "ready" ? describeEntry(content.entry) : undefined;
  if (words !== undefined) onText(row.node.id, words.text);
  const text = words?.text ?? (content.state === "unreadable" ? "cannot be read here" : "…");
  const mark = words?.mark ?? "·";
  return (
    <>
      <span
        className={`entry-mark mark-${markClass(mark)}`}
        aria-hidden="true"
        title={roleNames[mark] ?? row.node.type}
      />
      <span className="visually-hidden">{roleNames[mark] ?? row.node.type}: </span>
      <span className={content.state === "unreadable" ? "row-text is-unreadable" : "row-text"} dir="auto">
        {text}
      </span>
      {row.label === undefined ? null : (
        <span className="label-mark" dir="auto">
          <span className="visually-hidden">, label </span>
          {toShownLine(row.label)}
        </span>
      )}
      {row.isArchived ? <span className="row-note">archived</span> : null}
      {row.branch === "collapsed" && row.hidden > 0 ? (
        <span className="row-note">+ {row.hidden.toLocaleString("en")}</span>
      ) : null}
      {row.forks > 1 ? <span className="row-note">{countOf(row.forks, "branch", "branches")}</span> : null}
      {row.cursors.map((mark) => (
        <DeviceMark key={mark.deviceId} mark={mark} />
      ))}
    </>
  );
}

function FoldCell({ row }: { readonly row: TreeFoldRow }): ReactNode {
  return (
    <>
      <span className="entry-mark mark-fold" aria-hidden="true" />
      <span className="row-fold">{countEntries(row.count)}</span>
    </>
  );
}

function NoteCell({ row: { kind, count, cursors } }: { readonly row: TreeNoteRow }): ReactNode {
  return (
    <>
      <span className="row-fold">{describeNote(kind, count)}</span>
      {cursors.map((mark) => (
        <DeviceMark key={mark.deviceId} mark={mark} />
      ))}
    </>
  );
}

function describeNote(kind: TreeNoteRow["kind"], count: number): string {
  switch (kind) {
    case "start":
      return "before the first entry";
    case "waiting":
      return `${countEntries(count)} waiting for one that has not arrived`;
    case "cycle":
      return `${countEntries(count)} not shown: their parents form a circle`;
    case "elsewhere":
      return "on an entry that has not arrived";
  }
}

/** The class of a mark: what has no drawing of its own is a setting. */
function markClass(mark: string): string {
  return (
    { u: "user", a: "agent", t: "tool", s: "system", b: "command", c: "message", "≡": "summary", "?": "unknown" }[
      mark
    ] ?? "setting"
  );
}
