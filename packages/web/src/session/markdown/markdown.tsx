import { createElement, Fragment, memo, type ReactNode, useMemo, useState } from "react";
import { formatSize } from "../model/format.ts";
import { toShownText } from "../model/shown-text.ts";
import { CodeBlock } from "./code-block.tsx";
import { cutMarkdown, type MarkdownPiece } from "./markdown-pieces.ts";
import { type MarkdownToken, parseMarkdown, toSafeAddress } from "./markdown-tokens.ts";
import "./markdown.css";

/** Shown at first, and how much each "Show more" adds. */
const firstChars = 24 * 1024;
const moreChars = 48 * 1024;

/** A text as Markdown: elements, never HTML, and of a long text the beginning until more is asked for. */
export const Markdown = memo(function Markdown({
  text,
  keepsLines = false,
}: {
  readonly text: string;
  readonly keepsLines?: boolean;
}): ReactNode {
  const [limit, setLimit] = useState(firstChars);
  const shown = useMemo(() => toShownText(text), [text]);
  const pieces = useMemo(() => cutMarkdown(shown, limit), [shown, limit]);
  const left = shown.length - limit;
  return (
    <div className="markdown" dir="auto">
      {pieces.map((piece, index) => (
        <Piece key={index} {...piece} keepsLines={keepsLines} />
      ))}
      {left > 0 ? (
        <button type="button" className="button-quiet show-more" onClick={() => setLimit(limit + moreChars)}>
          Show more ({formatSize(left)} left)
        </button>
      ) : null}
    </div>
  );
});

const Piece = memo(function Piece({
  text,
  isPlain,
  keepsLines,
}: MarkdownPiece & { readonly keepsLines: boolean }): ReactNode {
  const nodes = useMemo(() => {
    const tokens = isPlain ? undefined : parseMarkdown(text);
    return tokens === undefined ? undefined : renderTokens(tokens, keepsLines);
  }, [text, isPlain, keepsLines]);
  return nodes ?? <p className="plain-text">{text}</p>;
});

/** Elements that tokens may become; headings keep their place below those of the page. */
const tagByName: Readonly<Record<string, string>> = {
  h1: "h4",
  h2: "h4",
  h3: "h5",
  h4: "h5",
  h5: "h6",
  h6: "h6",
  ...Object.fromEntries(
    ["p", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s"].map(
      (tag) => [tag, tag],
    ),
  ),
};
const blocksOfText = new Set(["p", "li", "blockquote", "h4", "h5", "h6", "td", "th"]);

interface Open {
  readonly token: MarkdownToken | undefined;
  readonly children: ReactNode[];
}

/** Tokens come as openings, contents and closings in one list, and the lines of a paragraph as a list within. */
function renderTokens(tokens: readonly MarkdownToken[], keepsLines: boolean): ReactNode[] {
  const root: Open = { token: undefined, children: [] };
  const stack: Open[] = [root];
  for (const token of tokens) {
    const parent = stack.at(-1) ?? root;
    const key = parent.children.length;
    if (token.nesting > 0) stack.push({ token, children: [] });
    else if (token.nesting === 0) parent.children.push(<Fragment key={key}>{renderLeaf(token, keepsLines)}</Fragment>);
    else if (stack.length > 1) {
      stack.pop();
      const above = stack.at(-1) ?? root;
      above.children.push(renderElement(parent, above.children.length));
    }
  }
  return root.children;
}

function renderElement({ token, children }: Open, key: number): ReactNode {
  if (token === undefined) return null;
  // A paragraph of a list whose items have no space between them.
  if (token.hidden) return <Fragment key={key}>{children}</Fragment>;
  if (token.type === "link_open") {
    const address = toSafeAddress(String(token.attrGet("href") ?? ""));
    if (address === undefined) return <Fragment key={key}>{children}</Fragment>;
    return (
      <a key={key} href={address} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  }
  const tag = tagByName[token.tag];
  if (tag === undefined) return <Fragment key={key}>{children}</Fragment>;
  const start = token.tag === "ol" ? Number(token.attrGet("start") ?? 1) : undefined;
  const element = createElement(
    tag,
    { key, ...(blocksOfText.has(tag) ? { dir: "auto" } : {}), ...(start === undefined ? {} : { start }) },
    ...children,
  );
  if (tag !== "table") return element;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section key={key} className="markdown-table" aria-label="Table" tabIndex={0}>
      {element}
    </section>
  );
}

function renderLeaf(token: MarkdownToken, keepsLines: boolean): ReactNode {
  switch (token.type) {
    case "inline":
      return renderTokens(token.children ?? [], keepsLines);
    case "text":
      return token.content;
    case "softbreak":
      return keepsLines ? <br /> : "\n";
    case "hardbreak":
      return <br />;
    case "code_inline":
      return <code dir="ltr">{token.content}</code>;
    case "fence":
    case "code_block":
      return <CodeBlock text={token.content} language={token.info.trim().split(/\s+/)[0] ?? ""} />;
    case "hr":
      return <hr />;
    case "image":
      return <PictureLink address={String(token.attrGet("src") ?? "")} name={token.content} />;
    default:
      return token.content;
  }
}

/** A picture elsewhere is never fetched by itself: whoever has it would learn who reads, and when. */
function PictureLink({ address, name }: { readonly address: string; readonly name: string }): ReactNode {
  const safe = toSafeAddress(address);
  if (safe === undefined) return name;
  return (
    <a className="picture-link" href={safe} target="_blank" rel="noopener noreferrer">
      <span aria-hidden="true">🖼 </span>
      {name || "picture"} <span className="muted">(not loaded, {new URL(safe).host})</span>
    </a>
  );
}
