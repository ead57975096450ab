import createMarkdown, { type MarkdownIt, type Token } from "markdown-it";

/** What the parser gives, as far as it is looked at. */
export type MarkdownToken = Token;

/** More than this is shown as plain text: each becomes an element of the page. */
const maxTokens = 2_500;

const parser = createParser();

/**
 * Parses Markdown with tables, and links that are written out; HTML stays text. Undefined: it would become more elements
 * than a page should hold.
 */
export function parseMarkdown(text: string): MarkdownToken[] | undefined {
  const tokens = parser.parse(text, {});
  let count = tokens.length;
  for (const { children } of tokens) count += children?.length ?? 0;
  return count > maxTokens ? undefined : tokens;
}

/** The address of a link that may be followed: web and mail alone, complete. Undefined for any other. */
export function toSafeAddress(address: string): string | undefined {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return undefined;
  return URL.canParse(address) ? address : undefined;
}

function createParser(): MarkdownIt {
  const markdown = createMarkdown({ html: false, linkify: true, maxNesting: 24 });
  // "example.md" is a file more often than a host.
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  markdown.validateLink = (address) => toSafeAddress(address) !== undefined;
  return markdown;
}
