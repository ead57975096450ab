import type { ReplicaStatus } from "@coppice/client";

/** Where the connection to a relay stands, in a few words. */
export function describeConnection(status: ReplicaStatus): string {
  const refusal = describeRefusal(status);
  if (refusal !== undefined) return refusal;
  if (status.connection === "connecting") return "connecting";
  if (status.connection !== "online") return "cannot be reached at the moment";
  return status.synced ? "online" : "online, fetching";
}

/** What of a session is saved where, in a few words: everything that is not as it should be, and the count that waits. */
export function describeReplica(status: ReplicaStatus): string {
  const parts: string[] = [];
  if (status.storageError !== undefined) parts.push(`not saved here: ${status.storageError}`);
  if (status.unsaved > 0) parts.push(`${status.unsaved} unsaved`);
  const refusal = describeRefusal(status);
  if (refusal !== undefined) parts.push(refusal);
  parts.push(`${status.pending} waiting`);
  return parts.join(" · ");
}

/** "the relay refuses: why", or undefined when it does not. */
export function describeRefusal({ refused }: ReplicaStatus): string | undefined {
  return refused === undefined ? undefined : `the relay refuses: ${refused.reason} (${refused.code})`;
}
