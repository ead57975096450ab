import { createNewerVersionError, SessionError } from "@coppice/core";
import { createRoomKeys } from "@coppice/storage-yjs";
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
/** The first version was the key alone, so that a character that a chat changed led to another, empty workspace. */
const linkVersion = 2;
/** The third one names the relay too, for a page that is not served by it. Written for those alone. */
const webLinkVersion = 3;

/**
 * The text that pairs another device: the relay's address with version, workspace key and check in the fragment, which
 * no client ever sends to a server (SPEC WS6). Whoever reads it can read and write every session of the workspace.
 */
export function formatPairingLink({ relay = noRelayScheme, workspaceKey }: PairingInvitation): string {
  const key = toBase64UrlEncoded(workspaceKey);
  return `${relay}/#${keyParameter}${linkVersion}.${key}.${checkOf(workspaceKey)}`;
}

/**
 * The same for a browser: an address that opens the app, with the workspace in the fragment (SPEC WS90). `page` is where
 * the app is served from, `http://` or `https://`; absent: by the relay itself. Throws `invalid_entry` when there is
 * neither, and for a page that is no such address.
 */
export function formatWebLink({ relay, workspaceKey }: PairingInvitation, page?: string): string {
  const key = toBase64UrlEncoded(workspaceKey);
  const ofRelay = relay === undefined ? undefined : toPageAddress(relay);
  const address = page === undefined ? ofRelay : parsePageAddress(page);
  if (address === undefined)
    throw new SessionError("invalid_entry", "A workspace without a relay has no page of its own; name one.");
  const isOfRelay = address === ofRelay;
  const version = isOfRelay ? linkVersion : webLinkVersion;
  const rest = isOfRelay ? "" : `.${encodeURIComponent(relay ?? "")}`;
  return `${address}/#${keyParameter}${version}.${key}.${checkOf(workspaceKey)}${rest}`;
}

/** Whether a text looks like a pairing link rather than a relay's address. */
export function isPairingLink(text: string): boolean {
  return text.includes("#");
}

/**
 * Reads a pairing link, for a device or for a browser, also one of the first version. Throws `invalid_entry` with what is
 * wrong, without repeating the key, and `version_mismatch` for a link of a later version.
 */
export function parsePairingLink(text: string): PairingInvitation {
  const at = text.indexOf("#");
  const fragment = at < 0 ? undefined : readFragment(text.slice(at + 1));
  const address = text.slice(0, Math.max(at, 0));
  const isPage = /^https?:/i.test(address);
  if (fragment === undefined || (fragment.relay !== undefined && !isPage))
    throw new SessionError(
      "invalid_entry",
      "This pairing link is incomplete or damaged; run `coppice link` on the other device and copy the whole line.",
    );
  const { workspaceKey, relay } = fragment;
  if (relay === "" || address.startsWith(noRelayScheme)) return { workspaceKey };
  if (relay !== undefined) return { relay: parseRelayAddress(relay), workspaceKey };
  return {
    relay: parseRelayAddress(isPage ? parsePageAddress(address).replace(/^http/, "ws") : address),
    workspaceKey,
  };
}

/** What a link's fragment says. */
interface LinkFragment {
  readonly workspaceKey: Uint8Array;
  /** As it stands in a link of version 3; "": none. */
  readonly relay?: string;
}

/** Reads a link's fragment; undefined when it is damaged. */
function readFragment(fragment: string): LinkFragment | undefined {
  if (!fragment.startsWith(keyParameter)) return undefined;
  const text = fragment.slice(keyParameter.length);
  const version = Number(/^([1-9]\d{0,5})\./.exec(text)?.[1] ?? 1);
  if (version > webLinkVersion) throw createNewerVersionError("This pairing link");
  const [keyText = "", check, ...rest] = version === 1 ? [text] : text.split(".").slice(1);
  const workspaceKey = base64UrlToBytes(keyText);
  if (workspaceKey?.length !== keyBytes || (version > 1 && check !== checkOf(workspaceKey))) return undefined;
  if (version < webLinkVersion) return rest.length > 0 ? undefined : { workspaceKey };
  const relay = rest.length === 0 ? undefined : decodeText(rest.join("."));
  return relay === undefined ? undefined : { workspaceKey, relay };
}

function decodeText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Something was cut off or changed on the way: the link is damaged.
    return undefined;
  }
}

/** Four bytes, derived as the id of a room key is, that tell a key from one with a wrong character. */
function checkOf(workspaceKey: Uint8Array): string {
  return toBase64UrlEncoded(createRoomKeys("", workspaceKey).keyId);
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

/** The address of the page that a relay serves. */
function toPageAddress(relay: string): string {
  return parseRelayAddress(relay).replace(/^ws/, "http");
}

/** Checks a page's address and takes off query, fragment and trailing slashes. Throws `invalid_entry`. */
function parsePageAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new SessionError(
      "invalid_entry",
      `"${text}" is not the address of a page; it looks like https://app.example.`,
    );
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function base64UrlToBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  return fromBase64UrlEncoded(text);
}
