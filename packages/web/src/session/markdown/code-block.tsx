import type { ElementContent } from "hast";
import { createElement, memo, type ReactNode, useEffect, useState } from "react";

/** Longer code keeps one colour: to colour it would hold the page up. */
const maxColouredChars = 12_000;

/** Code as it is, in colours once what knows its language has been loaded. It scrolls sideways in itself. */
export const CodeBlock = memo(function CodeBlock({
  text,
  language,
  label = "Code",
}: {
  readonly text: string;
  readonly language: string;
  readonly label?: string;
}): ReactNode {
  const trimmed = text.replace(/\n$/, "");
  const coloured = useColouredCode(trimmed, language);
  const name = language === "" ? label : `${label}, ${language}`;
  return (
    <figure className="code-block" dir="ltr">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section tabIndex={0} aria-label={name}>
        <pre>
          <code>{coloured ?? trimmed}</code>
        </pre>
      </section>
    </figure>
  );
});

function useColouredCode(text: string, language: string): ReactNode[] | undefined {
  const [coloured, setColoured] = useState<{ text: string; nodes: ReactNode[] | undefined }>();
  const isColoured = language !== "" && text.length <= maxColouredChars;
  useEffect(() => {
    if (!isColoured) return undefined;
    let isCurrent = true;
    void import("./highlight.ts").then(({ highlightCode }) => {
      if (isCurrent) setColoured({ text, nodes: toNodes(highlightCode(text, language)) });
    });
    return () => {
      isCurrent = false;
    };
  }, [text, language, isColoured]);
  return isColoured && coloured?.text === text ? coloured.nodes : undefined;
}

function toNodes(content: readonly ElementContent[] | undefined): ReactNode[] | undefined {
  return content?.map((node, key) => {
    if (node.type === "text") return node.value;
    if (node.type !== "element") return null;
    const { className } = node.properties;
    return createElement(
      "span",
      { key, className: Array.isArray(className) ? className.join(" ") : undefined },
      ...(toNodes(node.children) ?? []),
    );
  });
}
