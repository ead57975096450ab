import { type ReactNode, useState } from "react";
import { TextField } from "../design/text-field.tsx";
import type { AppHome } from "./app-home.ts";

/** A field for a pairing link of another workspace. */
export function LinkForm({ home }: { readonly home: AppHome }): ReactNode {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  const submit = (): void => {
    try {
      void home.takeLink(text);
    } catch (error) {
      // A link that is damaged; whoever pasted it reads why.
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextField label="Pairing link" value={text} onChange={setText} isRequired maxLength={2000} />
      {fault === undefined ? null : (
        <p role="alert" className="fault">
          {fault}
        </p>
      )}
      <div className="acts">
        <button type="submit" className="button">
          Open the link
        </button>
      </div>
    </form>
  );
}
