import type { BranchEvent, Workspace } from "@coppice/client";
import { useEffect } from "react";
import { sessionPath } from "../app/route.ts";
import { navigate } from "../app/router.tsx";
import { toShownLine } from "../session/model/shown-text.ts";
import { announce } from "./announcements.ts";

/** Says when another device has made an open session branch (SPEC WB14). */
export function useBranchAnnouncements(workspace: Workspace): void {
  useEffect(() => {
    return workspace.subscribeBranches((branches) => {
      for (const news of groupBranches(branches)) {
        const name = workspace.listSessions().find(({ id }) => id === news.sessionId)?.name;
        announce(describeBranches(news, name), {
          act: { name: "Show", run: () => navigate(sessionPath(news.sessionId, { entry: news.entryId })) },
        });
      }
    });
  }, [workspace]);
}

/** Branches that one device has added to one session at once. */
export interface BranchNews {
  readonly sessionId: string;
  readonly deviceName: string | undefined;
  /** The last of them. */
  readonly entryId: string;
  readonly count: number;
}

/** A device that comes back with many branches is one piece of news. */
export function groupBranches(branches: readonly BranchEvent[]): BranchNews[] {
  const news = new Map<string, BranchNews>();
  for (const { sessionId, deviceId, deviceName, entryId } of branches) {
    const key = `${sessionId} ${deviceId}`;
    const count = (news.get(key)?.count ?? 0) + 1;
    news.set(key, { sessionId, deviceName, entryId, count });
  }
  return [...news.values()];
}

/** One sentence. */
export function describeBranches({ deviceName, count }: BranchNews, sessionName: string | undefined): string {
  const who = toShownLine(deviceName ?? "") || "Another device";
  const what = count === 1 ? "a branch" : `${count} branches`;
  return sessionName === undefined ? `${who} added ${what}.` : `${who} added ${what} to “${toShownLine(sessionName)}”.`;
}
