import type { SessionCursor, SharedSession } from "@coppice/client";
import { useCursors, useSession } from "@coppice/react";
import type { ReactNode } from "react";
import { describePresence } from "./describe-presence.ts";

/** The other devices that have a session open. It is opened for that here too, so that it can be read without a network. */
export function SessionPresence({ sessionId }: { readonly sessionId: string }): ReactNode {
  const opened = useSession(sessionId);
  return opened.state === "open" ? <Presence session={opened.session} /> : null;
}

function Presence({ session }: { readonly session: SharedSession }): ReactNode {
  const cursors: readonly SessionCursor[] = useCursors(session);
  const words = describePresence(cursors);
  return words === undefined ? null : (
    <span className="session-presence small" dir="auto">
      {words}
    </span>
  );
}
