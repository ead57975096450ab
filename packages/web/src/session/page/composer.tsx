import type { SharedSession } from "@coppice/client";
import { useEntry } from "@coppice/react";
import { type ReactNode, useId, useState } from "react";
import { moveHere, writeMessage } from "../acts/branch-acts.ts";
import { describeEntry } from "../model/entry-words.ts";

/** Writes a message on the branch this device stands on; looking at another one, it offers to go there first. */
export function Composer(props: {
  readonly session: SharedSession;
  readonly isFetched: boolean;
  /** The end of the branch that is looked at, when that is not this device's. */
  readonly elsewhereId: string | undefined;
  /** The entry a message goes on from. */
  readonly leaf: string | undefined;
  readonly lookAt: (entryId: string | undefined) => void;
}): ReactNode {
  const { session, isFetched, elsewhereId, leaf, lookAt } = props;
  const id = useId();
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  if (!isFetched) return null;
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setFault(undefined);
    try {
      await work();
    } catch (error) {
      // The text stays in the field; the person reads why.
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const send = (): Promise<void> =>
    run(async () => {
      if (text.trim() === "") return;
      await writeMessage(session, text);
      setText("");
      lookAt(undefined);
    });
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {fault === undefined ? null : (
        <p role="alert" className="fault">
          {fault}
        </p>
      )}
      {elsewhereId === undefined ? (
        <>
          <label htmlFor={id} className="composer-label">
            Message {leaf === undefined ? "that begins the session" : <After session={session} id={leaf} />}
          </label>
          <div className="composer-row">
            <textarea
              id={id}
              className="field"
              rows={2}
              dir="auto"
              value={text}
              aria-describedby={`${id}-hint`}
              onChange={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void send();
              }}
            />
            <button type="submit" className="button" disabled={text.trim() === ""}>
              Add
            </button>
          </div>
          <p id={`${id}-hint`} className="composer-hint">
            No agent runs in this browser: one on another device goes on from here.
          </p>
        </>
      ) : (
        <div className="composer-row">
          <p className="composer-hint">You are looking at another branch than yours.</p>
          <button
            type="button"
            className="button"
            onClick={() => void run(() => moveHere(session, elsewhereId).then(() => lookAt(undefined)))}
          >
            Continue on this branch
          </button>
        </div>
      )}
    </form>
  );
}

function After({ session, id }: { readonly session: SharedSession; readonly id: string }): ReactNode {
  const content = useEntry(session, id);
  const text = content.state === "ready" ? describeEntry(content.entry).text : "…";
  return (
    <>
      after <bdi className="composer-after">{text.slice(0, 80)}</bdi>
    </>
  );
}
