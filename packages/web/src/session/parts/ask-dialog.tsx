import { type ReactNode, useId, useState } from "react";
import { useModal } from "../../design/use-modal.ts";
import "./dialog.css";

/** A question with room for a text. */
export interface AskDialogProps {
  readonly title: string;
  readonly hint?: string;
  readonly initial: string;
  readonly action: string;
  /** Room for several lines. */
  readonly isLong?: boolean;
  /** False: an empty answer cannot be given. */
  readonly mayBeEmpty?: boolean;
  /** The dialog stays open while it works, and says what went wrong. */
  readonly onAnswer: (text: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for one text in a dialog. Escape closes it; in several lines, Control or Command with Enter answers. */
export function AskDialog(props: AskDialogProps): ReactNode {
  const { title, hint, initial, action, isLong = false, mayBeEmpty = false, onAnswer, onClose } = props;
  const dialog = useModal();
  const id = useId();
  const [text, setText] = useState(initial);
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const canAnswer = !isBusy && (mayBeEmpty || text.trim() !== "");
  const answer = async (): Promise<void> => {
    if (!canAnswer) return;
    setBusy(true);
    try {
      await onAnswer(text);
      onClose();
    } catch (error) {
      // Whoever asked stays here and reads it: the text is not lost.
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const field = {
    id,
    value: text,
    dir: "auto" as const,
    className: "field",
    "aria-describedby": hint === undefined ? undefined : `${id}-hint`,
    onChange: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
  };
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={`${id}-title`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void answer();
        }}
      >
        <h2 id={`${id}-title`}>
          <label htmlFor={id}>{title}</label>
        </h2>
        {isLong ? (
          <textarea
            {...field}
            rows={8}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void answer();
            }}
          />
        ) : (
          <input type="text" {...field} />
        )}
        {hint === undefined ? null : (
          <p id={`${id}-hint`} className="muted">
            {hint}
          </p>
        )}
        {fault === undefined ? null : (
          <p role="alert" className="fault">
            {fault}
          </p>
        )}
        <div className="dialog-acts">
          <button type="button" className="button-quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" disabled={!canAnswer}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
