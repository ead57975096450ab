import type { SharedSession } from "@coppice/client";
import { useSession, useSyncStatus } from "@coppice/react";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { reportFailure } from "../status/announcements.ts";
import type { HomeStore } from "./home-store.ts";

/** Whose sessions, and which of them is on the screen. */
export interface UnsentSessionsProps {
  readonly home: HomeStore;
  readonly workspaceId: string;
  readonly shownId: string | undefined;
}

/**
 * Keeps sessions open that may have entries the relay has not: one that is shown is marked as such, durably, until it has
 * been seen to have none, so that what was written offline in a tab that is gone is sent by the next one (SPEC WB9).
 */
export function UnsentSessions({ home, workspaceId, shownId }: UnsentSessionsProps): ReactNode {
  const [marks, setMarks] = useState<readonly string[]>([]);
  useEffect(() => {
    home.listMarks(workspaceId).then((found) => setMarks((known) => [...new Set([...known, ...found])]), reportFailure);
  }, [home, workspaceId]);
  useEffect(() => {
    if (shownId === undefined) return;
    setMarks((known) => (known.includes(shownId) ? known : [...known, shownId]));
    home.setMark(workspaceId, shownId, true).catch(reportFailure);
  }, [home, workspaceId, shownId]);
  const takeOut = useCallback(
    (sessionId: string) => {
      setMarks((known) => known.filter((id) => id !== sessionId));
      home.setMark(workspaceId, sessionId, false).catch(reportFailure);
    },
    [home, workspaceId],
  );
  return marks.filter((id) => id !== shownId).map((id) => <UnsentSession key={id} sessionId={id} onSent={takeOut} />);
}

interface UnsentSessionProps {
  readonly sessionId: string;
  readonly onSent: (sessionId: string) => void;
}

function UnsentSession({ sessionId, onSent }: UnsentSessionProps): ReactNode {
  const opened = useSession(sessionId);
  const isGone = opened.state === "failed" && opened.error.code === "not_found";
  useEffect(() => {
    if (isGone) onSent(sessionId);
  }, [isGone, sessionId, onSent]);
  return opened.state === "open" ? <OpenUnsentSession session={opened.session} onSent={onSent} /> : null;
}

function OpenUnsentSession({
  session,
  onSent,
}: {
  readonly session: SharedSession;
  readonly onSent: (sessionId: string) => void;
}): ReactNode {
  const { relay, pending, unsaved } = useSyncStatus(session);
  const isSent = relay.state === "live" && pending === 0 && unsaved === 0;
  useEffect(() => {
    if (isSent) onSent(session.id);
  }, [isSent, session, onSent]);
  return null;
}
