import { useDevices } from "@coppice/react";
import { type ReactNode, useState } from "react";
import type { WorkspaceAppProps } from "../app/workspace-app.tsx";
import { LinkForm } from "../home/link-form.tsx";
import { deviceName } from "../session/model/cursor-marks.ts";
import { toShownLine } from "../session/model/shown-text.ts";
import { DeviceLink } from "./device-link.tsx";
import { LeaveDialog } from "./leave-dialog.tsx";
import { NameDialog } from "./name-dialog.tsx";
import "./devices.css";

/** The devices of the workspace, how to add one, and what this browser is in. */
export function DevicesPage({ home, opened, stored }: WorkspaceAppProps): ReactNode {
  const devices = useDevices();
  const [dialog, setDialog] = useState<"name" | "leave">();
  const others = stored.filter(({ id }) => id !== opened.stored.id);
  return (
    <div className="sheet">
      <h1>Devices</h1>
      <ul className="devices-list">
        {devices.map(({ id, name, person, isThis, isFormer }) => (
          <li key={id} className="device-row">
            <span className="device-name" dir="auto">
              {deviceName(id, name)}
              {person === undefined ? null : <span className="muted"> · {toShownLine(person)}</span>}
            </span>
            {isThis ? <span className="device-mark">this browser</span> : null}
            {isFormer ? <span className="muted small">an earlier one of this browser</span> : null}
            {isThis ? (
              <button type="button" className="button-quiet" onClick={() => setDialog("name")}>
                Rename
              </button>
            ) : null}
          </li>
        ))}
      </ul>
      <section className="card" aria-labelledby="add-device">
        <h2 id="add-device">Add a device</h2>
        <DeviceLink stored={opened.stored} />
      </section>
      <section className="card" aria-labelledby="workspaces">
        <h2 id="workspaces">Workspaces in this browser</h2>
        {others.length === 0 ? (
          <p className="muted">This is the only one. Another one's link opens it beside this one.</p>
        ) : (
          <ul className="devices-list">
            {others.map((other) => (
              <li key={other.id} className="device-row">
                <span className="device-name">
                  {other.relay ?? "without a relay"} <span className="muted">as {toShownLine(other.device.name)}</span>
                </span>
                <button type="button" className="button-quiet" onClick={() => void home.switchTo(other.id)}>
                  Switch
                </button>
              </li>
            ))}
          </ul>
        )}
        <details>
          <summary>Join another workspace</summary>
          <LinkForm home={home} />
        </details>
      </section>
      <section className="card" aria-labelledby="leave">
        <h2 id="leave">Leave this workspace</h2>
        <p>Removes its sessions and its key from this browser. Other devices keep theirs.</p>
        <div className="acts">
          <button type="button" className="button-danger" onClick={() => setDialog("leave")}>
            Leave…
          </button>
        </div>
      </section>
      {dialog === "name" ? <NameDialog home={home} opened={opened} onClose={() => setDialog(undefined)} /> : null}
      {dialog === "leave" ? <LeaveDialog home={home} opened={opened} onClose={() => setDialog(undefined)} /> : null}
    </div>
  );
}
