/** A place in the app, as the address bar has it. */
export type Route =
  | { readonly page: "sessions" }
  | { readonly page: "session"; readonly sessionId: string }
  | { readonly page: "devices" }
  | { readonly page: "unknown" };

/** Reads the path of an address. */
export function parseRoute(pathname: string): Route {
  const path = pathname.replace(/\/+$/, "");
  if (path === "") return { page: "sessions" };
  if (path === "/devices") return { page: "devices" };
  const sessionId = /^\/session\/([^/]+)$/.exec(path)?.[1];
  const decoded = sessionId === undefined ? undefined : decode(sessionId);
  return decoded === undefined ? { page: "unknown" } : { page: "session", sessionId: decoded };
}

/** The path of a session's page; `parameters` become its query, those that are undefined are left out. */
export function sessionPath(
  sessionId: string,
  parameters: { readonly [name: string]: string | undefined } = {},
): string {
  const query = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const search = query.size === 0 ? "" : `?${query}`;
  return `/session/${encodeURIComponent(sessionId)}${search}`;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: no address of ours.
    return undefined;
  }
}
