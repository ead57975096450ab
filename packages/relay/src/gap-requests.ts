/** When a connection whose updates had gaps was last asked for what is missing. */
export interface GapRequests {
  /** Version of the room's vector at the last request; undefined before the first. */
  readonly askedAtVersion: number | undefined;
  /** No request before this time, ms. */
  readonly notBeforeMs: number;
}

/** What to do about a gap: ask now, ask after a while, or nothing. */
export type GapDecision =
  | { readonly kind: "ask"; readonly state: GapRequests }
  | { readonly kind: "ask later"; readonly delayMs: number }
  | { readonly kind: "wait" };

export const noGapRequests: GapRequests = { askedAtVersion: undefined, notBeforeMs: 0 };

/**
 * Decides about a gap in what a connection sent. Asking is one SyncStep1, which the client answers with all the relay
 * lacks. Asking again is pointless while nothing has arrived since (the client does not have it), and otherwise happens
 * at most every `backoffMs`, so a client with a hole that it cannot fill costs next to nothing.
 *
 * @param version grows whenever the room's vector does
 */
export function decideGapRequest(state: GapRequests, version: number, nowMs: number, backoffMs: number): GapDecision {
  if (state.askedAtVersion === version) return { kind: "wait" };
  if (nowMs < state.notBeforeMs) return { kind: "ask later", delayMs: state.notBeforeMs - nowMs };
  return { kind: "ask", state: { askedAtVersion: version, notBeforeMs: nowMs + backoffMs } };
}
