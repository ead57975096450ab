import { type ReactNode, useId } from "react";

/** A line of text with its label. */
export interface TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  /** What a browser may fill in; default: nothing. */
  readonly autoComplete?: string;
  readonly maxLength?: number;
}

/** A line of text with its label, and what there is to know about it. */
export function TextField(props: TextFieldProps): ReactNode {
  const {
    label,
    hint,
    value,
    onChange,
    isRequired = false,
    placeholder,
    autoComplete = "off",
    maxLength = 200,
  } = props;
  const id = useId();
  return (
    <div className="labelled">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="text"
        className="field"
        dir="auto"
        value={value}
        required={isRequired}
        placeholder={placeholder}
        autoComplete={autoComplete}
        spellCheck={false}
        maxLength={maxLength}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="muted small">
          {hint}
        </p>
      )}
    </div>
  );
}
