import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SessionError } from "@coppice/core";
import { readErrorCode } from "@coppice/home";
import type { AppHandler } from "@coppice/web/server";
import { UsageError } from "./usage-error.ts";

const maxPort = 65_535;

/** Reads a port as it was typed. Throws `UsageError`. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= maxPort) return port;
  throw new UsageError(`--port takes a number from 0 to ${maxPort}, not "${text}".`);
}

/** What to say when another program listens there; undefined for another failure. */
export function describePortInUse(error: unknown, host: string, port: number): SessionError | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (readErrorCode(cause) !== "EADDRINUSE") return undefined;
  return new SessionError(
    "storage",
    `Port ${port} on ${host} is in use; end the program that holds it, or choose another with --port (0 takes a free one).`,
    { cause: error },
  );
}

/** A server that is listening. */
export interface AppServer {
  /** `http://host:port`. */
  readonly url: string;
  readonly port: number;
  /** Ends it, and the connections of its pages. */
  close(): Promise<void>;
}

/** Serves the app alone, without a relay. Rejects `storage` when the port is in use, `unknown` when it cannot listen. */
export async function serveApp(handler: AppHandler, host: string, port: number): Promise<AppServer> {
  const server = createServer(handler);
  await listen(server, host, port);
  const { address, port: taken, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`,
    port: taken,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(
        describePortInUse(error, host, port) ??
          new SessionError("unknown", `The app cannot be served on ${host}:${port}: ${error.message}.`, {
            cause: error,
          }),
      );
    });
    server.listen(port, host, resolve);
  });
}
