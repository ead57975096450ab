import type { SharedSession } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { useEntry } from "@coppice/react";
import { memo, type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { Markdown } from "../markdown/markdown.tsx";
import { describeEntry } from "../model/entry-words.ts";
import { countEntries, formatMoment } from "../model/format.ts";
import { readBlocks, readToolResult, type ToolResult } from "../model/message-blocks.ts";
import { firstShownLine, toShownLine } from "../model/shown-text.ts";
import type { TranscriptItem } from "../model/transcript-items.ts";
import { MenuButton, type MenuItem } from "../parts/menu.tsx";
import { Fold } from "./fold.tsx";
import { FoldLine, MessageParts, ResultFold } from "./message-parts.tsx";
import { PlainText } from "./plain-text.tsx";

/** One item of a transcript, what is in it read as it is shown. */
export const TranscriptItemView = memo(function TranscriptItemView({
  session,
  item,
  author,
  label,
  actsOf,
}: {
  readonly session: SharedSession;
  readonly item: TranscriptItem;
  /** The device that wrote it, when that is another one. */
  readonly author: string | undefined;
  readonly label: string | undefined;
  readonly actsOf: (entryId: string) => readonly MenuItem[];
}): ReactNode {
  if (item.kind === "marks") return <Marks session={session} ids={item.moreIds} />;
  return (
    <article
      className={`item item-${item.kind}`}
      aria-label={[kindNames[item.kind], author, formatMoment(item.node.timestamp)].filter(Boolean).join(", ")}
    >
      <header className="item-header">
        <span className="item-kind">{kindNames[item.kind]}</span>
        {label === undefined ? null : (
          <span className="label-mark" dir="auto">
            {toShownLine(label)}
          </span>
        )}
        <span className="item-meta">
          {author === undefined ? null : <span dir="auto">{author}</span>}
          <time dateTime={item.node.timestamp}>{formatMoment(item.node.timestamp)}</time>
        </span>
        <MenuButton name="What to do with this entry" className="row-button" items={() => actsOf(item.id)} />
      </header>
      <ItemBody session={session} item={item} />
    </article>
  );
});

const kindNames: Readonly<Record<TranscriptItem["kind"], string>> = {
  user: "You",
  assistant: "Agent",
  system: "System",
  "tool-result": "Tool",
  bash: "Command",
  role: "Message",
  "custom-message": "Extension",
  compaction: "Compacted",
  "branch-summary": "Left a branch",
  marks: "Settings",
  unknown: "Unknown",
};

function ItemBody({ session, item }: { readonly session: SharedSession; readonly item: TranscriptItem }): ReactNode {
  const content = useEntry(session, item.id);
  if (content.state === "loading") return <div className="item-loading" style={{ blockSize: loadingHeight(item) }} />;
  if (content.state === "unreadable") return <p className="muted">Cannot be read here: {content.reason}</p>;
  const { entry } = content;
  if (item.kind === "assistant" && item.moreIds.length > 0)
    return <WithResults session={session} entry={entry} ids={item.moreIds} />;
  return <EntryBody entry={entry} kind={item.kind} />;
}

/** About as high as it will be, so that little moves when it comes. */
function loadingHeight({ node }: TranscriptItem): number {
  return Math.min(400, 24 + node.jsonBytes / 6);
}

/** A message and the results of its calls, each of which is an entry of its own and comes when it has been read. */
function WithResults({
  session,
  entry,
  ids,
}: {
  readonly session: SharedSession;
  readonly entry: SessionEntry;
  readonly ids: readonly string[];
}): ReactNode {
  const blocks = useMemo(() => readBlocks(entry), [entry]);
  const [byId, setById] = useState<ReadonlyMap<string, ToolResult>>(new Map());
  const take = useCallback(
    (result: ToolResult) => setById((before) => new Map(before).set(result.entryId, result)),
    [],
  );
  const results = useMemo(() => ids.flatMap((id) => byId.get(id) ?? []), [ids, byId]);
  return (
    <>
      {ids.map((id) => (
        <ResultReader key={id} session={session} id={id} onRead={take} />
      ))}
      <MessageParts blocks={blocks} results={results} />
    </>
  );
}

function ResultReader({
  session,
  id,
  onRead,
}: {
  readonly session: SharedSession;
  readonly id: string;
  readonly onRead: (result: ToolResult) => void;
}): ReactNode {
  const content = useEntry(session, id);
  useEffect(() => {
    const result = content.state === "ready" ? readToolResult(content.entry) : undefined;
    if (result !== undefined) onRead(result);
  }, [content, onRead]);
  return content.state === "unreadable" ? (
    <p className="muted">A result cannot be read here: {content.reason}</p>
  ) : null;
}

function EntryBody({
  entry,
  kind,
}: {
  readonly entry: SessionEntry;
  readonly kind: TranscriptItem["kind"];
}): ReactNode {
  const blocks = useMemo(() => readBlocks(entry), [entry]);
  if (kind === "bash" && entry.type === "message") {
    const { command, output, exitCode, cancelled } = entry.message;
    const state =
      cancelled === true
        ? "cancelled"
        : typeof exitCode === "number" && exitCode !== 0
          ? `exit code ${exitCode}`
          : undefined;
    return (
      <Fold
        className="call"
        summary={<FoldLine name="$" text={firstShownLine(String(command ?? ""), 300)} state={state} />}
      >
        {() => <PlainText text={typeof output === "string" ? output : ""} name="Output" />}
      </Fold>
    );
  }
  const result = kind === "tool-result" ? readToolResult(entry) : undefined;
  if (result !== undefined) return <ResultFold result={result} />;
  if (kind === "system")
    return (
      <Fold className="system" summary={<FoldLine name="System" text="what the agent is told first" />}>
        {() => <MessageParts blocks={blocks} />}
      </Fold>
    );
  if (entry.type === "compaction")
    return (
      <Fold className="summary" summary={<FoldLine name="Summary" text={firstShownLine(entry.summary)} />}>
        {() => <Markdown text={entry.summary} />}
      </Fold>
    );
  return <MessageParts blocks={blocks} keepsLines={kind === "user"} />;
}

/** Settings that follow each other, in one line. */
function Marks({ session, ids }: { readonly session: SharedSession; readonly ids: readonly string[] }): ReactNode {
  return (
    <p className="marks">
      {ids.slice(0, shownMarks).map((id) => (
        <MarkText key={id} session={session} id={id} />
      ))}
      {ids.length > shownMarks ? <span>{countEntries(ids.length - shownMarks)} more</span> : null}
    </p>
  );
}

const shownMarks = 6;

function MarkText({ session, id }: { readonly session: SharedSession; readonly id: string }): ReactNode {
  const content = useEntry(session, id);
  if (content.state === "loading") return <span>…</span>;
  return (
    <span dir="auto">
      {content.state === "ready" ? toShownLine(describeEntry(content.entry).text) : "cannot be read here"}
    </span>
  );
}
