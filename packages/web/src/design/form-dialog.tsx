import { type ReactNode, useId, useState } from "react";
import { useModal } from "./use-modal.ts";

/** A question with an act that may fail. */
export interface FormDialogProps {
  readonly title: ReactNode;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
  /** The dialog stays open while it works, and says what went wrong. */
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks something in a dialog; Escape and Cancel close it. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, action, isDangerous = false, isDisabled = false, children, onSubmit, onClose } = props;
  const dialog = useModal();
  const titleId = useId();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (isBusy || isDisabled) return;
    setBusy(true);
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      // Whoever asked reads it here, and may try again: what was typed is not lost.
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={titleId} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id={titleId}>{title}</h2>
        {children}
        {fault === undefined ? null : (
          <p role="alert" className="fault">
            {fault}
          </p>
        )}
        <div className="dialog-acts">
          <button type="button" className="button-quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className={isDangerous ? "button-danger" : "button"} disabled={isBusy || isDisabled}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
