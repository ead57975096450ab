import type { SyncStatus } from "@coppice/client";

/** Where the connection to a relay stands, in a few words. */
export function describeConnection(status: SyncStatus): string {
  const refusal = describeRefusal(status);
  if (refusal !== undefined) return refusal;
  const { relay } = status;
  if (relay.state === "connecting") return "connecting";
  if (relay.state === "catching-up") return `online, ${describeFetching(relay)}`;
  if (relay.state === "live") return "online";
  return "cannot be reached at the moment";
}

/** "fetching 3 of 10"; "fetching" while nobody knows how much there is. */
export function describeFetching({ arrived, total }: { readonly arrived: number; readonly total: number }): string {
  return total === 0 ? "fetching" : `fetching ${arrived} of ${total}`;
}

/** What of a session is saved where, in a few words: everything that is not as it should be, and the count that waits. */
export function describeReplica(status: SyncStatus): string {
  const parts: string[] = [];
  if (status.local.state === "failed") parts.push(`not saved here: ${status.local.reason}`);
  if (status.unsaved > 0) parts.push(`${status.unsaved} unsaved`);
  const refusal = describeRefusal(status);
  if (refusal !== undefined) parts.push(refusal);
  parts.push(`${status.pending} waiting`);
  return parts.join(" · ");
}

/** Why the relay does not take what is here, or undefined when it does or has not been asked. */
export function describeRefusal({ relay, notice }: SyncStatus): string | undefined {
  if (relay.state === "too-old") return `upgrade needed: ${relay.reason}`;
  const refusal = relay.state === "refused" ? relay : notice;
  return refusal && `the relay refuses: ${refusal.reason} (${refusal.code})`;
}
