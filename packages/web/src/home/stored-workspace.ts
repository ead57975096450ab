import type { DeviceIdentity } from "@coppice/client";

/** A workspace that this browser has joined: what its home keeps of it. The only place that holds its key. */
export interface StoredWorkspace {
  /** Version of this record. */
  readonly v: 1;
  /** Made when it was joined; begins the names of its databases. */
  readonly id: string;
  readonly workspaceKey: Uint8Array;
  /** Absent: a workspace without a relay. */
  readonly relay?: string;
  /** This browser, as the workspace's devices see it. */
  readonly device: DeviceIdentity;
  /** In ms since 1970; the one opened last is opened again. */
  readonly openedAt: number;
}

/** The name of the store with a workspace's sessions. */
export function storeNameOf({ id }: Pick<StoredWorkspace, "id">): string {
  return `coppice-${id}`;
}

/** Whether two keys are one. */
export function isSameKey(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}
