import { type PairingInvitation, parsePairingLink } from "@coppice/client";

/** The workspace that the page's own address invites to; undefined when its fragment is none of a pairing link. */
export function readPageLink({ origin, hash }: Pick<Location, "origin" | "hash">): PairingInvitation | undefined {
  return hash.startsWith("#coppice=") ? parsePairingLink(`${origin}/${hash}`) : undefined;
}

/** Takes the fragment, which holds a key, out of the address bar and of this entry of the history. */
export function removeFragment(): void {
  history.replaceState(history.state, "", location.pathname + location.search);
}
