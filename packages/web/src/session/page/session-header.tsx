import type { SharedSession } from "@coppice/client";
import { useWorkspace } from "@coppice/react";
import type { ReactNode } from "react";
import { sessionPath } from "../../app/route.ts";
import { navigate } from "../../app/router.tsx";
import { exportJsonLines, exportMarkdown, saveFile, toFileName } from "../acts/export-session.ts";
import { MenuButton, type MenuItem } from "../parts/menu.tsx";
import type { Question } from "./open-session.tsx";
import { useSessionTitle } from "./use-session-title.ts";

/** The session's name and what can be done with all of it. */
export function SessionHeader(props: {
  readonly session: SharedSession;
  readonly name: string | undefined;
  readonly leafId: string | null;
  readonly ask: (question: Question) => void;
  readonly tell: (work: Promise<unknown>) => void;
}): ReactNode {
  const { session, name, leafId, ask, tell } = props;
  const workspace = useWorkspace();
  const title = useSessionTitle(session);
  const items = (): readonly MenuItem[] => [
    {
      name: "Rename…",
      run: () =>
        ask({
          title: "Name of the session",
          initial: name ?? "",
          action: "Rename",
          mayBeEmpty: true,
          onAnswer: async (text) => void (await workspace.renameSession(session.id, text)),
        }),
    },
    {
      name: "Make a session of its own",
      hint: "A copy of everything, which goes its own way",
      run: () => tell(workspace.forkSession(session.id, {}).then(({ id }) => navigate(sessionPath(id)))),
    },
    {
      name: "Save as JSON Lines",
      hint: "Every entry as it was written, for Coppice and pi",
      run: () =>
        tell(
          exportJsonLines(session).then((text) => saveFile(toFileName(title, "jsonl"), "application/x-ndjson", text)),
        ),
    },
    {
      name: "Save this branch as Markdown",
      run: () =>
        tell(exportMarkdown(session, leafId).then((text) => saveFile(toFileName(title, "md"), "text/markdown", text))),
    },
  ];
  return (
    <header className="session-header">
      <h1 dir="auto">{title}</h1>
      <MenuButton name="What to do with this session" className="row-button" items={items} />
    </header>
  );
}
