import { existsSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseEncoding } from "./accept-encoding.ts";
import { type AppFile, readAppFiles } from "./app-files.ts";
import { makeSecurityHeaders } from "./security-headers.ts";

/** How the app is served. */
export interface AppHandlerOptions {
  /**
   * Addresses (`ws://`, `wss://`) that the app may connect to besides the host that serves it, which is always allowed.
   * Default: none.
   */
  readonly relays?: readonly string[];
}

/** Answers one request, every one: a file of the app, or 404 or 405. For `http.createServer`, and `app` of a relay. */
export type AppHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** The same from the sources as from what is published. */
const appFolder = fileURLToPath(new URL("../../dist/app", import.meta.url));
/** Places in the app: the path is read by the app, and the file is one for all. */
const pagePattern = /^\/(?:devices\/?|session\/[^/]+\/?)?$/;
const immutable = "public, max-age=31536000, immutable";

/** Whether this copy of the package has the built app: a clone has it once `npm start`, `npm test` or `pnpm build` ran. */
export function isAppBuilt(): boolean {
  return existsSync(join(appFolder, "index.html"));
}

/**
 * Makes the handler that serves the built app, from memory: reads all of it now. It needs no state and holds no secret:
 * the key of a workspace comes with a link's fragment, which no browser sends. Throws when the app has not been built, and
 * a `TypeError` for a relay that is no address.
 */
export function createAppHandler({ relays = [] }: AppHandlerOptions = {}): AppHandler {
  const files = readAppFiles(appFolder);
  makeSecurityHeaders(undefined, relays);
  return (request, response) => {
    const headers = makeSecurityHeaders(request.headers.host, relays);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { ...headers, allow: "GET, HEAD" }).end();
      return;
    }
    const path = (request.url ?? "/").split(/[?#]/, 1)[0] ?? "/";
    const file = files.get(pagePattern.test(path) ? "/index.html" : path);
    if (file !== undefined) {
      sendFile(request, response, file, headers);
      return;
    }
    response.writeHead(404, { ...headers, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
    response.end("There is nothing here; the app is at / .\n");
  };
}

function sendFile(
  { method, headers: asked }: IncomingMessage,
  response: ServerResponse,
  file: AppFile,
  securityHeaders: Record<string, string>,
): void {
  const encoding = chooseEncoding(headerText(asked["accept-encoding"]), file.bytes.keys());
  const body = file.bytes.get(encoding) ?? Buffer.alloc(0);
  const etag = `"${file.hash}${encoding === "identity" ? "" : `-${encoding}`}"`;
  const headers = {
    ...securityHeaders,
    "cache-control": file.isImmutable ? immutable : "no-cache",
    etag,
    vary: "Accept-Encoding",
  };
  const known = (asked["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*")) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "content-type": file.type,
    "content-length": body.length,
    ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
  });
  response.end(method === "HEAD" ? undefined : body);
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
