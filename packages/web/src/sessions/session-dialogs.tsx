import type { WorkspaceSession } from "@coppice/client";
import { type ReactNode, useState } from "react";
import { FormDialog } from "../design/form-dialog.tsx";
import { TextField } from "../design/text-field.tsx";

/** What is asked before a session is made. */
export interface NewSessionDialogProps {
  readonly onMake: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks how a new session is to be called. */
export function NewSessionDialog({ onMake, onClose }: NewSessionDialogProps): ReactNode {
  const [name, setName] = useState("");
  return (
    <FormDialog title="New session" action="Create" onSubmit={() => onMake(name.trim())} onClose={onClose}>
      <TextField label="Name (optional)" value={name} onChange={setName} />
    </FormDialog>
  );
}

/** Which session gets another name. */
export interface RenameDialogProps {
  readonly session: WorkspaceSession;
  readonly onRename: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for a session's new name. */
export function RenameDialog({ session, onRename, onClose }: RenameDialogProps): ReactNode {
  const [name, setName] = useState(session.name ?? "");
  return (
    <FormDialog title="Rename session" action="Rename" onSubmit={() => onRename(name)} onClose={onClose}>
      <TextField label="Name" hint="Everybody sees it. Empty takes the name away." value={name} onChange={setName} />
    </FormDialog>
  );
}
