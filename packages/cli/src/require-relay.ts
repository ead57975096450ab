import { SessionError } from "@coppice/core";
import type { Home } from "@coppice/home";

/** The address of a home's relay. Throws `not_found`: without one no other device, and no browser, can join. */
export function requireRelay({ relay }: Home): string {
  if (relay !== undefined) return relay;
  throw new SessionError(
    "not_found",
    "This workspace has no relay yet, so no other device can reach it; run `coppice init` with the relay's address first.",
  );
}
