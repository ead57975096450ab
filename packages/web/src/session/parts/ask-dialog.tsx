import { type ReactNode, useId, useState } from "react";
import { FormDialog } from "../../design/form-dialog.tsx";

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
  const id = useId();
  const [text, setText] = useState(initial);
  const field = {
    id,
    value: text,
    dir: "auto" as const,
    className: "field",
    "aria-describedby": hint === undefined ? undefined : `${id}-hint`,
    onChange: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
  };
  return (
    <FormDialog
      title={<label htmlFor={id}>{title}</label>}
      action={action}
      isDisabled={!mayBeEmpty && text.trim() === ""}
      onSubmit={() => onAnswer(text)}
      onClose={onClose}
    >
      {isLong ? (
        <textarea
          {...field}
          rows={8}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
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
    </FormDialog>
  );
}
