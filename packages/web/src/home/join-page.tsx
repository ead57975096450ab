import type { PairingInvitation } from "@coppice/client";
import { type ReactNode, useState } from "react";
import { TextField } from "../design/text-field.tsx";
import type { AppHome } from "./app-home.ts";
import { suggestDeviceName } from "./device-name.ts";

/** What the link that was opened leads to. */
export interface JoinPageProps {
  readonly home: AppHome;
  readonly invitation: PairingInvitation;
  /** How many workspaces this browser is in. */
  readonly others: number;
}

/** Asks how this browser is to be called, and whether it shall join at all. */
export function JoinPage({ home, invitation, others }: JoinPageProps): ReactNode {
  const [name, setName] = useState(() => suggestDeviceName(navigator.userAgent));
  const [person, setPerson] = useState("");
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const join = async (): Promise<void> => {
    setBusy(true);
    try {
      await home.join({ name, person });
    } catch (error) {
      // This browser could not keep the key: the person reads why, and may try again.
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main className="sheet">
      <h1>{others === 0 ? "Join this workspace" : "Join another workspace"}</h1>
      {others === 0 ? (
        <p>This browser becomes a device of the workspace: it reads and writes all its sessions, offline too.</p>
      ) : (
        <p>
          This browser is already in {others === 1 ? "a workspace" : `${others} workspaces`}, and the link is for
          another. Nothing of what is here is lost: they are kept apart, and you can switch between them.
        </p>
      )}
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          void join();
        }}
      >
        <TextField
          label="Name of this device"
          hint="The others see it beside what is written here."
          value={name}
          onChange={setName}
          isRequired
          maxLength={60}
        />
        <TextField
          label="Your name (optional)"
          value={person}
          onChange={setPerson}
          autoComplete="name"
          maxLength={60}
        />
        <p className="muted small">
          {invitation.relay === undefined ? (
            "The workspace has no relay: what is written here stays in this browser."
          ) : (
            <>
              Its relay is <code>{invitation.relay}</code>. It carries sealed bytes and cannot read them.
            </>
          )}
        </p>
        {fault === undefined ? null : (
          <p role="alert" className="fault">
            {fault}
          </p>
        )}
        <div className="acts">
          <button type="submit" className="button" disabled={isBusy || name.trim() === ""}>
            Join
          </button>
          <button type="button" className="button-quiet" onClick={() => void home.decline()}>
            {others === 0 ? "Not now" : "Stay where I am"}
          </button>
        </div>
      </form>
    </main>
  );
}
