import { type ReactNode, useMemo, useState } from "react";
import { formatSize } from "../model/format.ts";
import { toShownText } from "../model/shown-text.ts";

/** Shown at first, and how much each "Show more" adds. */
const firstChars = 8 * 1024;
const moreChars = 64 * 1024;

/** Output of a tool or a command: as it is, in a box that scrolls, the beginning of a long one until more is asked for. */
export function PlainText({ text, name }: { readonly text: string; readonly name: string }): ReactNode {
  const [limit, setLimit] = useState(firstChars);
  const shown = useMemo(() => toShownText(text.slice(0, limit)).replace(/\n$/, ""), [text, limit]);
  const left = text.length - limit;
  return (
    <div className="output" dir="ltr">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section tabIndex={0} aria-label={name}>
        <pre>{shown}</pre>
      </section>
      {left > 0 ? (
        <button type="button" className="button-quiet show-more" onClick={() => setLimit(limit + moreChars)}>
          Show more ({formatSize(left)} left)
        </button>
      ) : null}
    </div>
  );
}
