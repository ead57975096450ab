import type { SharedSession } from "@coppice/client";
import { useWorkspace } from "@coppice/react";
import { useCallback } from "react";
import { sessionPath } from "../../app/route.ts";
import { navigate } from "../../app/router.tsx";
import { archiveBranch, branchWithEdit, labelEntry, moveHere } from "../acts/branch-acts.ts";
import { isOnBranch } from "../model/branch-view.ts";
import { readContentText } from "../model/entry-words.ts";
import { blocksToText, readBlocks } from "../model/message-blocks.ts";
import { shownChildren } from "../model/session-node.ts";
import type { MenuItem } from "../parts/menu.tsx";
import type { Question } from "./open-session.tsx";

/** What acts need of the page. */
export interface EntryActsOptions {
  readonly session: SharedSession;
  readonly lookAt: (entryId: string | undefined) => void;
  readonly compare: (entryId: string) => void;
  readonly ask: (question: Question) => void;
  /** Shows what went wrong with it, if anything. */
  readonly tell: (work: Promise<unknown>) => void;
}

/** Gives what can be done with an entry, as the items of a menu. */
export function useEntryActs({ session, lookAt, compare, ask, tell }: EntryActsOptions) {
  const workspace = useWorkspace();
  return useCallback(
    (entryId: string, headId?: string, isArchived = false): readonly MenuItem[] => {
      const { tree, storage } = session;
      const node = tree.get(entryId);
      if (node === undefined) return [];
      const isTip = shownChildren(tree, entryId).length === 0;
      const readText = async (): Promise<string> => {
        const entry = await storage.getEntry(entryId);
        return entry === undefined ? "" : blocksToText(readBlocks(entry));
      };
      const copy = (text: Promise<string | undefined>): void =>
        tell(text.then((value) => navigator.clipboard.writeText(value ?? "")));
      const items: MenuItem[] = [
        {
          name: isTip ? "Continue here" : "Branch from here",
          hint: isTip
            ? "What you write next goes on from this entry"
            : "What you write next begins a branch at this entry",
          run: () => tell(moveHere(session, entryId).then(() => lookAt(undefined))),
        },
      ];
      if (node.role === "user") {
        const edit = async (): Promise<void> => {
          const entry = await storage.getEntry(entryId);
          const initial =
            entry?.type === "message"
              ? readContentText(entry.message.content)
                  .replace(/^\[image\]$/gm, "")
                  .trim()
              : "";
          ask({
            title: "Say it another way",
            hint: "The old message stays, on its own branch. No agent runs here: one on another device goes on from it.",
            initial,
            action: "Branch",
            isLong: true,
            onAnswer: async (text) => {
              await branchWithEdit(session, entryId, text);
              lookAt(undefined);
            },
          });
        };
        items.push({ name: "Edit and branch…", run: () => tell(edit()) });
      }
      items.push(
        {
          name: "Label…",
          run: () =>
            ask({
              title: "Label of this entry",
              hint: "Everybody sees it. Empty: none.",
              initial: tree.label(entryId) ?? "",
              action: "Save",
              mayBeEmpty: true,
              onAnswer: (text) => labelEntry(session, entryId, text),
            }),
        },
        {
          name: "Fork into a new session",
          hint: "With the branch that ends here",
          run: () =>
            tell(
              workspace
                .forkSession(session.id, { entryId, position: "at" })
                .then(({ id }) => navigate(sessionPath(id))),
            ),
        },
        ...(isOnBranch(tree, entryId, session.getLeafId() ?? null)
          ? []
          : [{ name: "Compare with my branch", run: () => compare(entryId) }]),
        { name: "Copy text", run: () => copy(readText()) },
        { name: "Copy id", run: () => copy(Promise.resolve(entryId)) },
        {
          name: "Copy link",
          run: () => copy(Promise.resolve(`${location.origin}${sessionPath(session.id, { entry: entryId })}`)),
        },
      );
      if (headId !== undefined)
        items.push({
          name: isArchived ? "Take this branch out of the archive" : "Archive this branch",
          hint: isArchived ? "" : "It folds away on every device; nothing is removed",
          run: () => tell(archiveBranch(session, headId, !isArchived)),
        });
      return items;
    },
    [session, workspace, lookAt, compare, ask, tell],
  );
}
