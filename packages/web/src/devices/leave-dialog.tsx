import { useSyncStatus } from "@coppice/react";
import { type ReactNode, useEffect, useState } from "react";
import { FormDialog } from "../design/form-dialog.tsx";
import { reportFailure } from "../status/announcements.ts";
import { describeLoss } from "./describe-loss.ts";
import type { ThisDeviceDialogProps } from "./name-dialog.tsx";

/** Asks once more before a workspace is removed from this browser, and says what would be lost. */
export function LeaveDialog({ home, opened, onClose }: ThisDeviceDialogProps): ReactNode {
  const { pending, unsaved } = useSyncStatus(opened.workspace);
  const [unsentSessions, setUnsentSessions] = useState(0);
  const { id, relay } = opened.stored;
  useEffect(() => {
    home.home.listMarks(id).then((marks) => setUnsentSessions(marks.length), reportFailure);
  }, [home, id]);
  const loss = describeLoss({ unsent: pending + unsaved, unsentSessions, hasRelay: relay !== undefined });
  return (
    <FormDialog
      title="Leave this workspace?"
      action="Leave"
      isDangerous
      onSubmit={() => home.leave()}
      onClose={onClose}
    >
      <p>Its sessions and its key are removed from this browser. To come back you need a link from another device.</p>
      {loss === undefined ? null : <p className="fault">{loss}</p>}
    </FormDialog>
  );
}
