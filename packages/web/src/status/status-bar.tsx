import { warnBeforeUnload } from "@coppice/persist-indexeddb";
import { useSyncStatus } from "@coppice/react";
import { type ReactNode, useEffect, useId, useState, useSyncExternalStore } from "react";
import type { OpenedWorkspace } from "../home/app-home.ts";
import { describeStatus, isAtRisk, type StatusWords } from "./describe-status.ts";
import { isConnectionBlocked, subscribeBlocked } from "./policy-blocks.ts";
import "./status-bar.css";

/** Where everything that is written stands, always in sight: on this device and at the relay, and why. */
export function StatusBar({ opened }: { readonly opened: OpenedWorkspace }): ReactNode {
  const { workspace, stored, notKept } = opened;
  const status = useSyncStatus(workspace);
  const isBlocked = useSyncExternalStore(subscribeBlocked, isConnectionBlocked);
  const words = describeStatus(status, { notKept, hasRelay: stored.relay !== undefined, isBlocked });
  const id = useId();
  useEffect(() => warnBeforeUnload(() => isAtRisk(workspace.overallStatus(), notKept)), [workspace, notKept]);
  return (
    <div className="status">
      <button type="button" className="status-button" popoverTarget={id}>
        <span aria-hidden="true" className={`status-dot is-${words.tone}`} />
        <span className="status-words">
          {words.here} · {words.relay}
        </span>
        <span className="visually-hidden">, details of the status</span>
      </button>
      <div id={id} popover="auto" className="status-details">
        <h2>Status</h2>
        <dl>
          <dt>This device</dt>
          <dd>{words.here}</dd>
          <dt>Relay</dt>
          <dd>{words.relay}</dd>
          <dt>Address</dt>
          <dd className="status-address">{stored.relay ?? "none"}</dd>
          <dt>Waiting</dt>
          <dd>{status.pending === 0 ? "nothing" : `${status.pending.toLocaleString("en")} not at the relay yet`}</dd>
          {status.lastAcknowledgedAt === undefined ? null : (
            <>
              <dt>Last taken</dt>
              <dd>{new Date(status.lastAcknowledgedAt).toLocaleTimeString()}</dd>
            </>
          )}
        </dl>
        {words.reason === undefined ? null : <p>{words.reason}</p>}
        {stored.relay === undefined ? null : (
          <button type="button" className="button-quiet" onClick={() => workspace.resync()}>
            Ask the relay now
          </button>
        )}
      </div>
      <SpokenStatus words={words} />
      {isSerious(words) && words.reason !== undefined ? <p className="status-reason">{words.reason}</p> : null}
    </div>
  );
}

function isSerious({ tone }: StatusWords): boolean {
  return tone === "danger" || tone === "warning";
}

/** Speaks what lasts, and not every step on the way: saving, connecting and fetching come and go. */
function SpokenStatus({ words }: { readonly words: StatusWords }): ReactNode {
  const text = `${words.here}, ${words.relay}`;
  const [spoken, setSpoken] = useState(text);
  if (words.tone !== "busy" && spoken !== text) setSpoken(text);
  return (
    <span role="status" className="visually-hidden">
      {spoken}
    </span>
  );
}
