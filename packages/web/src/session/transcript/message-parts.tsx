import { memo, type ReactNode } from "react";
import { Markdown } from "../markdown/markdown.tsx";
import type { MessageBlock, ToolResult } from "../model/message-blocks.ts";
import { firstShownLine, toShownLine } from "../model/shown-text.ts";
import { Fold } from "./fold.tsx";
import { PlainText } from "./plain-text.tsx";

/** The parts of a message, results of its tool calls folded into them; results that answer none of them follow. */
export const MessageParts = memo(function MessageParts({
  blocks,
  results = [],
  keepsLines = false,
}: {
  readonly blocks: readonly MessageBlock[];
  readonly results?: readonly ToolResult[];
  readonly keepsLines?: boolean;
}): ReactNode {
  const calls = new Set(blocks.flatMap((block) => (block.kind === "tool-call" ? [block.id] : [])));
  const others = results.filter(({ callId }) => callId === undefined || !calls.has(callId));
  return (
    <>
      {blocks.map((block, index) => (
        <Block
          key={index}
          block={block}
          keepsLines={keepsLines}
          results={block.kind === "tool-call" ? results.filter(({ callId }) => callId === block.id) : []}
        />
      ))}
      {others.map((result) => (
        <ResultFold key={result.entryId} result={result} />
      ))}
    </>
  );
});

function Block({
  block,
  results,
  keepsLines,
}: {
  readonly block: MessageBlock;
  readonly results: readonly ToolResult[];
  readonly keepsLines: boolean;
}): ReactNode {
  switch (block.kind) {
    case "text":
      return <Markdown text={block.text} keepsLines={keepsLines} />;
    case "thinking":
      return (
        <Fold className="thinking" summary={<FoldLine name="Thinking" text={firstShownLine(block.text)} />}>
          {() =>
            block.isRedacted && block.text.trim() === "" ? (
              <p className="muted">Not told by the provider.</p>
            ) : (
              <Markdown text={block.text} />
            )
          }
        </Fold>
      );
    case "tool-call":
      return <CallFold call={block} results={results} />;
    case "image":
      return (
        <img className="picture" src={block.source} alt="Attached to this message" loading="lazy" decoding="async" />
      );
    case "error":
      return (
        <p className="fault" dir="auto">
          {firstShownLine(block.text, 2_000)}
        </p>
      );
    case "unknown":
      return (
        <Fold
          className="unknown"
          summary={<FoldLine name={toShownLine(block.name)} text="a kind this version does not know" />}
        >
          {() => <PlainText text={block.json} name="JSON" />}
        </Fold>
      );
  }
}

function CallFold({
  call,
  results,
}: {
  call: MessageBlock & { kind: "tool-call" };
  results: readonly ToolResult[];
}): ReactNode {
  const name = toShownLine(call.name) || "tool";
  const failed = results.some(({ isError }) => isError);
  const state = failed ? "failed" : results.length === 0 ? "no result" : undefined;
  return (
    <Fold
      className={failed ? "call is-failed" : "call"}
      summary={<FoldLine name={name} text={describeArguments(call.arguments)} state={state} />}
    >
      {() => (
        <>
          <ArgumentList value={call.arguments} />
          {results.map((result) => (
            <ResultBody key={result.entryId} result={result} />
          ))}
        </>
      )}
    </Fold>
  );
}

/** The result of a tool that stands alone. */
export function ResultFold({ result }: { readonly result: ToolResult }): ReactNode {
  const name = `Result of ${toShownLine(result.name)}`;
  return (
    <Fold
      className={result.isError ? "call is-failed" : "call"}
      summary={<FoldLine name={name} text={firstLineOf(result.blocks)} state={result.isError ? "failed" : undefined} />}
    >
      {() => <ResultBody result={result} />}
    </Fold>
  );
}

function ResultBody({ result }: { readonly result: ToolResult }): ReactNode {
  if (result.blocks.length === 0) return <p className="muted">No output.</p>;
  return result.blocks.map((block, index) =>
    block.kind === "text" ? (
      <PlainText key={index} text={block.text} name={`Result of ${toShownLine(result.name)}`} />
    ) : (
      <Block key={index} block={block} results={[]} keepsLines={false} />
    ),
  );
}

/** One line: a name, what it is about, and how it ended. */
export function FoldLine({
  name,
  text,
  state,
}: {
  readonly name: string;
  readonly text: string;
  readonly state?: string | undefined;
}): ReactNode {
  return (
    <>
      <b>{name}</b>
      <span className="fold-text" dir="auto">
        {text}
      </span>
      {state === undefined ? null : <span className="fold-state">{state}</span>}
    </>
  );
}

/** Arguments by name, each text as it is: the values of a call are paths, commands and files. */
function ArgumentList({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return <PlainText text={JSON.stringify(value, undefined, 2) ?? ""} name="Arguments" />;
  return (
    <dl className="arguments">
      {Object.entries(value).map(([name, each]) => (
        <div key={name}>
          <dt>{toShownLine(name)}</dt>
          <dd>
            <PlainText
              text={typeof each === "string" ? each : (JSON.stringify(each, undefined, 2) ?? "")}
              name={toShownLine(name)}
            />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The argument that says most: a path or a command, else the first text. */
function describeArguments(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const named = value as Record<string, unknown>;
  const telling = ["command", "path", "file_path", "pattern", "query", "url"].map((name) => named[name]);
  const text = [...telling, ...Object.values(named)].find((each) => typeof each === "string");
  return typeof text === "string" ? firstShownLine(text, 200) : "";
}

function firstLineOf(blocks: readonly MessageBlock[]): string {
  const first = blocks.find((block) => block.kind === "text");
  return first?.kind === "text" ? firstShownLine(first.text, 200) : "";
}
