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

/**
 * The text that pairs another device: the relay's address with version, workspace key and check in the fragment, which
 * no client ever sends to a server (SPEC WS6). Whoever reads it can read and write every session of the workspace.
 */
export function formatPairingLink({ relay = noRelayScheme, workspaceKey }: PairingInvitation): string {
  const key = toBase64UrlEncoded(workspaceKey);
  return `${relay}/#${keyParameter}${linkVersion}.${key}.${checkOf(workspaceKey)}`;
}

/** Whether a text looks like a pairing link rather than a relay's address. */
export function isPairingLink(text: string): boolean {
  return text.includes("#");
}

/**
 * Reads a pairing link, also one of the first version. Throws `invalid_entry` with what is wrong, without repeating the
 * key, and `version_mismatch` for a link of a later version.
 */
export function parsePairingLink(text: string): PairingInvitation {
  const at = text.indexOf("#");
  const workspaceKey = at < 0 ? undefined : readKey(text.slice(at + 1));
  if (workspaceKey === undefined)
    throw new SessionError(
      "invalid_entry",
      "This pairing link is incomplete or damaged; run `coppice link` on the other device and copy the whole line.",
    );
  const address = text.slice(0, at);
  if (address.startsWith(noRelayScheme)) return { workspaceKey };
  return { relay: parseRelayAddress(address), workspaceKey };
}

/** The key in a link's fragment; undefined when it is damaged. */
function readKey(fragment: string): Uint8Array | undefined {
  if (!fragment.startsWith(keyParameter)) return undefined;
  const text = fragment.slice(keyParameter.length);
  const version = /^([1-9]\d{0,5})\./.exec(text)?.[1];
  if (version !== undefined && Number(version) > linkVersion) throw createNewerVersionError("This pairing link");
  const [keyText = "", check, ...rest] = version === undefined ? [text] : text.split(".").slice(1);
  const key = base64UrlToBytes(keyText);
  if (key?.length !== keyBytes || rest.length > 0) return undefined;
  return version === undefined || check === checkOf(key) ? key : undefined;
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

function base64UrlToBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  return fromBase64UrlEncoded(text);
}
