import type { SharedSession } from "@coppice/client";
import { useBranch, useTree } from "@coppice/react";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { sessionPath } from "../../app/route.ts";
import { navigate, useSearchParam } from "../../app/router.tsx";
import { CompareDialog } from "../compare/compare-dialog.tsx";
import { LogPane } from "../log/log-pane.tsx";
import { findBranchEnd } from "../model/branch-view.ts";
import { findShownEntry } from "../model/session-node.ts";
import { arrangePanes, type Pane, type ShownPanes } from "../model/shown-panes.ts";
import { AskDialog, type AskDialogProps } from "../parts/ask-dialog.tsx";
import { useMedia } from "../parts/use-media.ts";
import { TranscriptPane } from "../transcript/transcript-pane.tsx";
import { TreePane } from "../tree/tree-pane.tsx";
import { Composer } from "./composer.tsx";
import { NewEntries } from "./new-entries.tsx";
import { SessionHeader } from "./session-header.tsx";
import { SessionNotices } from "./session-notices.tsx";
import { useEntryActs } from "./use-entry-acts.ts";

/** What the dialogs of the page ask. */
export type Question = Omit<AskDialogProps, "onClose">;

const paneNames: Readonly<Record<Pane, string>> = { tree: "Tree", transcript: "Transcript", log: "Log" };

/** An open session. What is looked at stands in the address, so that Back and links lead to it. */
export function OpenSession({ session }: { readonly session: SharedSession }): ReactNode {
  const { tree, version, leafId, problems } = useTree(session);
  const entryId = useSearchParam("entry");
  const [pane, setPane] = useState<Pane>("transcript");
  const { shown, choice, chosen, seen } = usePanes(pane);
  const [comparedId, setComparedId] = useState<string>();
  const [question, setQuestion] = useState<Question>();
  const [fault, setFault] = useState<string>();
  const lookedAtId = entryId !== undefined && tree.has(entryId) ? entryId : undefined;
  const shownId = useMemo(
    () => (lookedAtId === undefined ? undefined : findBranchEnd(tree, lookedAtId, leafId ?? null)),
    [tree, version, lookedAtId, leafId],
  );
  const own = findShownEntry(tree, leafId ?? null)?.id;
  const isElsewhere = shownId !== undefined && shownId !== own;
  const branch = useBranch(session, isElsewhere ? shownId : undefined);
  const lookAt = useCallback(
    (id: string | undefined) => {
      navigate(sessionPath(session.id, { entry: id }));
      setPane("transcript");
    },
    [session],
  );
  const tell = useCallback((work: Promise<unknown>) => {
    setFault(undefined);
    work.catch((error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
  }, []);
  const actsOf = useEntryActs({ session, lookAt, compare: setComparedId, ask: setQuestion, tell });
  return (
    <div className="session-page" data-panes={shown.join(" ")}>
      <SessionHeader
        session={session}
        name={tree.sessionName()}
        leafId={branch.leafId ?? null}
        ask={setQuestion}
        tell={tell}
      />
      <SessionNotices
        session={session}
        version={version}
        leafId={leafId}
        problems={problems}
        missingParentId={branch.missingParentId}
        elsewhereId={isElsewhere ? shownId : undefined}
        fault={fault}
        lookAt={lookAt}
        tell={tell}
      />
      {choice.length === 0 ? null : (
        <nav className="pane-choice" aria-label="Views of the session">
          {choice.map((id) => (
            <button key={id} type="button" aria-pressed={chosen === id} onClick={() => setPane(id)}>
              {paneNames[id]}
            </button>
          ))}
        </nav>
      )}
      <div className="panes">
        <section className="pane pane-tree" aria-label="Tree">
          {!seen.has("tree") ? null : tree.size === 0 ? (
            <p className="pane-empty">No entries yet.</p>
          ) : (
            <TreePane session={session} lookedAtId={lookedAtId} onLookAt={lookAt} actsOf={actsOf} />
          )}
        </section>
        <div className="pane pane-transcript">
          {branch.nodes.length === 0 ? (
            <p className="pane-empty">
              {leafId === undefined ? "This session has not been fetched yet." : "Nothing has been said here yet."}
            </p>
          ) : (
            <TranscriptPane
              session={session}
              branch={branch}
              version={version}
              lookedAtId={lookedAtId}
              actsOf={actsOf}
            />
          )}
          <Composer
            session={session}
            isFetched={leafId !== undefined}
            elsewhereId={isElsewhere ? shownId : undefined}
            leaf={own}
            lookAt={lookAt}
          />
        </div>
        <section className="pane pane-log" aria-label="Log">
          {seen.has("log") ? <LogPane session={session} lookedAtId={lookedAtId} onLookAt={lookAt} /> : null}
        </section>
      </div>
      <NewEntries nodes={branch.nodes} />
      {comparedId === undefined ? null : (
        <CompareDialog
          session={session}
          entryId={comparedId}
          onLookAt={lookAt}
          onClose={() => setComparedId(undefined)}
        />
      )}
      {question === undefined ? null : <AskDialog {...question} onClose={() => setQuestion(undefined)} />}
    </div>
  );
}

/** The views that are shown, and those that have been: one that nobody has looked at is not even laid out. */
function usePanes(wanted: Pane): ShownPanes & { readonly seen: ReadonlySet<Pane> } {
  const isWide = useMedia("(min-width: 1100px)");
  const isWidest = useMedia("(min-width: 1600px)");
  const [seen, setSeen] = useState<ReadonlySet<Pane>>(new Set());
  const panes = arrangePanes(isWidest ? "three" : isWide ? "two" : "one", wanted);
  const isNew = panes.shown.some((pane) => !seen.has(pane));
  const seenNow = isNew ? new Set([...seen, ...panes.shown]) : seen;
  if (isNew) setSeen(seenNow);
  return { ...panes, seen: seenNow };
}
