import type { SessionNode, SharedSession } from "@coppice/client";
import { useEntry, useTree } from "@coppice/react";
import { type ReactNode, useId, useMemo, useState } from "react";
import { useModal } from "../../design/use-modal.ts";
import { compareWithOwn } from "../model/branch-view.ts";
import { describeEntry } from "../model/entry-words.ts";
import { countEntries } from "../model/format.ts";
import "./compare.css";

/** Entries of a branch that are shown at first, and that each "Show more" adds. */
const entriesAtOnce = 50;

/** What the comparison needs. */
export interface CompareDialogProps {
  readonly session: SharedSession;
  /** An entry of the other branch. */
  readonly entryId: string;
  readonly onLookAt: (entryId: string) => void;
  readonly onClose: () => void;
}

/** The own branch and another one from their last common entry; every entry leads to its place. Escape closes it. */
export function CompareDialog({ session, entryId, onLookAt, onClose }: CompareDialogProps): ReactNode {
  const { tree, version, leafId } = useTree(session);
  const dialog = useModal();
  const titleId = useId();
  const comparison = useMemo(() => compareWithOwn(tree, leafId ?? null, entryId), [tree, version, leafId, entryId]);
  const go = (id: string): void => {
    onClose();
    onLookAt(id);
  };
  return (
    <dialog ref={dialog} className="dialog compare" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>Two branches compared</h2>
      {comparison === undefined ? (
        <p>They cannot be compared yet: a part of one of them has not arrived here.</p>
      ) : (
        <>
          {comparison.ancestor === undefined ? (
            <p className="muted">They have no entry in common.</p>
          ) : (
            <section aria-label="Last common entry">
              <p className="muted">The last of {countEntries(comparison.shared)} that both have:</p>
              <EntryButton session={session} node={comparison.ancestor} onGo={go} />
            </section>
          )}
          <div className="compare-sides">
            <Side title="Only your branch" session={session} nodes={comparison.left} onGo={go} />
            <Side title="Only the other branch" session={session} nodes={comparison.right} onGo={go} />
          </div>
        </>
      )}
      <div className="dialog-acts">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  );
}

function Side(props: {
  readonly title: string;
  readonly session: SharedSession;
  readonly nodes: readonly SessionNode[];
  readonly onGo: (id: string) => void;
}): ReactNode {
  const { title, session, nodes, onGo } = props;
  const id = useId();
  const [limit, setLimit] = useState(entriesAtOnce);
  const left = nodes.length - limit;
  return (
    <section className="compare-side" aria-labelledby={id}>
      <h3 id={id}>
        {title} <span className="muted">({countEntries(nodes.length)})</span>
      </h3>
      {nodes.length === 0 ? <p className="muted">Nothing beyond the common entry.</p> : null}
      <ol>
        {nodes.slice(0, limit).map((node) => (
          <li key={node.id}>
            <EntryButton session={session} node={node} onGo={onGo} />
          </li>
        ))}
      </ol>
      {left > 0 ? (
        <button type="button" className="button-quiet" onClick={() => setLimit(limit + entriesAtOnce)}>
          Show more ({countEntries(left)} left)
        </button>
      ) : null}
    </section>
  );
}

const speakers: Readonly<Record<string, string>> = {
  user: "You",
  assistant: "Agent",
  toolResult: "Tool",
  system: "System",
  bashExecution: "Command",
};

function EntryButton(props: {
  readonly session: SharedSession;
  readonly node: SessionNode;
  readonly onGo: (id: string) => void;
}): ReactNode {
  const { session, node, onGo } = props;
  const content = useEntry(session, node.id);
  const text =
    content.state === "ready"
      ? describeEntry(content.entry).text
      : content.state === "loading"
        ? "…"
        : "cannot be read here";
  const speaker = node.role === undefined ? undefined : speakers[node.role];
  return (
    <button type="button" className="compare-entry" onClick={() => onGo(node.id)}>
      {speaker === undefined ? null : <span className="muted">{speaker}: </span>}
      <bdi>{text}</bdi>
    </button>
  );
}
