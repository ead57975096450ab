import { SessionError } from "@coppice/core";
import { fromBase64UrlEncoded, toBase64UrlEncoded } from "lib0/buffer";

/** What a second device needs to join a workspace: where the relay is and the workspace key. */
export interface PairingInvitation {
  /** `ws://` or `wss://` address of the relay, without a trailing slash; absent for a workspace without a relay. */
  readonly relay?: string;
  /** 32 bytes. */
  readonly workspaceKey: Uint8Array;
}

const keyBytes = 32;
const keyParameter = "coppice=";
const noRelayScheme = "coppice:";

/**
 * The text that pairs another device: the relay's address with the workspace key in the fragment, which no client
 * ever sends to a server (SPEC WS6). Whoever reads it can read and write every session of the workspace.
 */
export function formatPairingLink(invitation: PairingInvitation): string {
  return `${invitation.relay ?? noRelayScheme}/#${keyParameter}${toBase64UrlEncoded(invitation.workspaceKey)}`;
}

/** Whether a text looks like a pairing link rather than a relay's address. */
export function isPairingLink(text: string): boolean {
  return text.includes("#");
}

/** Reads a pairing link. Throws `invalid_entry` with what is wrong, without repeating the key. */
export function parsePairingLink(text: string): PairingInvitation {
  const at = text.indexOf("#");
  const fragment = at < 0 ? "" : text.slice(at + 1);
  const workspaceKey = fragment.startsWith(keyParameter)
    ? base64UrlToBytes(fragment.slice(keyParameter.length))
    : undefined;
  if (workspaceKey === undefined || workspaceKey.length !== keyBytes)
    throw new SessionError(
      "invalid_entry",
      "This pairing link is incomplete or damaged; run `coppice link` on the other device and copy the whole line.",
    );
  const address = text.slice(0, at);
  if (address.startsWith(noRelayScheme)) return { workspaceKey };
  return { relay: parseRelayAddress(address), workspaceKey };
}

/** Checks a relay's address and takes off a trailing slash. Throws `invalid_entry`. */
export function parseRelayAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "ws:" && url.protocol !== "wss:") || url.hash !== "" || url.search !== "")
    throw new SessionError(
      "invalid_entry",
      `"${text}" is not a relay address; it looks like ws://127.0.0.1:4600 or wss://relay.example.`,
    );
  return url.href.replace(/\/+$/, "");
}

function base64UrlToBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  return fromBase64UrlEncoded(text);
}
