import { formatPairingLink, formatWebLink } from "@coppice/client";
import { type ReactNode, useState } from "react";
import type { StoredWorkspace } from "../home/stored-workspace.ts";
import { reportFailure } from "../status/announcements.ts";
import { QrCode } from "./qr-code.tsx";

/** The link that brings another device in, once somebody has asked for it: it is a secret. */
export function DeviceLink({ stored }: { readonly stored: StoredWorkspace }): ReactNode {
  const [isShown, setShown] = useState(false);
  const [copied, setCopied] = useState("");
  if (!isShown)
    return (
      <>
        <p>A link brings another browser or computer in. Whoever has it can read and write every session.</p>
        <div className="acts">
          <button type="button" className="button-quiet" onClick={() => setShown(true)}>
            Show the link
          </button>
        </div>
      </>
    );
  // Browsers have none where the page comes from another machine without TLS: the text can be selected.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const webLink = formatWebLink(stored, location.origin);
  const copy = (text: string, what: string): void => {
    clipboard?.writeText(text).then(() => setCopied(`${what} copied.`), reportFailure);
  };
  return (
    <>
      <QrCode text={webLink} label="The link for a browser, to be scanned" />
      <p>Scan it with a phone, or open this in another browser:</p>
      <code className="command">{webLink}</code>
      <p>On a computer:</p>
      <code className="command">npx coppice init '{formatPairingLink(stored)}'</code>
      <div className="acts">
        {clipboard === undefined ? null : (
          <button type="button" className="button-quiet" onClick={() => copy(webLink, "Link")}>
            Copy the link
          </button>
        )}
        <button type="button" className="button-quiet" onClick={() => setShown(false)}>
          Hide
        </button>
        <span role="status" className="muted small">
          {copied}
        </span>
      </div>
    </>
  );
}
