import { type ReactNode, useState } from "react";
import { FormDialog } from "../design/form-dialog.tsx";
import { TextField } from "../design/text-field.tsx";
import type { AppHome, OpenedWorkspace } from "../home/app-home.ts";

/** A dialog about this browser as a device. */
export interface ThisDeviceDialogProps {
  readonly home: AppHome;
  readonly opened: OpenedWorkspace;
  readonly onClose: () => void;
}

/** Asks how this browser is to be called from now on. */
export function NameDialog({ home, opened, onClose }: ThisDeviceDialogProps): ReactNode {
  const [name, setName] = useState(opened.workspace.device.name);
  const [person, setPerson] = useState(opened.stored.device.person ?? "");
  return (
    <FormDialog
      title="Rename this device"
      action="Save"
      isDisabled={name.trim() === ""}
      onSubmit={() => home.nameDevice({ name, person })}
      onClose={onClose}
    >
      <TextField label="Name of this device" value={name} onChange={setName} isRequired maxLength={60} />
      <TextField label="Your name (optional)" value={person} onChange={setPerson} autoComplete="name" maxLength={60} />
    </FormDialog>
  );
}
