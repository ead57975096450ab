/** A host and port as a browser sends them. Anything else could put words of its own into the policy. */
const hostPattern = /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;

/** What every answer has, whatever it is (SPEC AP3). */
const fixedHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), midi=(), payment=(), usb=()",
};

/**
 * The headers that make an answer harmless, for the host that was asked. Scripts and styles come from the app's own files
 * alone, connections go to this host and to the relays, and nothing else is loaded, framed or sent anywhere.
 */
export function makeSecurityHeaders(host: string | undefined, relays: readonly string[]): Record<string, string> {
  const ownSockets = host !== undefined && hostPattern.test(host) ? [`ws://${host}`, `wss://${host}`] : [];
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    // Some browsers do not count websockets of the same host as 'self'.
    ["connect-src 'self'", ...new Set([...ownSockets, ...relays.map(toOrigin)])].join(" "),
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { ...fixedHeaders, "content-security-policy": policy.join("; ") };
}

/** `ws(s)://host:port` of a relay's address. Throws a `TypeError` for a text that is none. */
function toOrigin(relay: string): string {
  const { protocol, host } = new URL(relay);
  if (protocol !== "ws:" && protocol !== "wss:") throw new TypeError(`"${relay}" is not the address of a relay.`);
  return `${protocol}//${host}`;
}
