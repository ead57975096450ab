import type { IncomingMessage } from "node:http";
import type { Result } from "@coppice/core";
import type { CloseReason } from "@coppice/wire";

/** What a connection may do in its room. Roles that may only read come with tokens. */
type Role = "write";

/** Why a connection is not let in: the close code to use and a sentence for the client. */
export interface Refusal {
  readonly reason: CloseReason;
  readonly message: string;
}

/**
 * Decides about a connection by its upgrade request. This is the door tokens will come in by; it may take its time,
 * frames that arrive meanwhile wait.
 */
export type Authorize = (request: IncomingMessage) => Promise<Result<Role, Refusal>>;

/** Whether a host name means this machine only. IPv6 addresses with or without brackets. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

function isLoopbackUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return (protocol === "http:" || protocol === "https:") && isLoopbackHost(hostname);
}

/**
 * Lets every program of this machine in, and no web page. Browsers let any page open a websocket to 127.0.0.1, so
 * pages are told by their Origin (sandboxed ones send `null`), and by the Host when their name was made to point here
 * (DNS rebinding). Programs outside a browser send no Origin.
 */
export const authorizeOpen: Authorize = async ({ headers }) => {
  if (headers.host === undefined || !isLoopbackUrl(`http://${headers.host}`)) {
    return { ok: false, error: { reason: "forbidden", message: "this relay answers on loopback names only" } };
  }
  if (headers.origin !== undefined && !isLoopbackUrl(headers.origin)) {
    return { ok: false, error: { reason: "forbidden", message: "this relay takes no connections from web pages" } };
  }
  return { ok: true, value: "write" };
};
