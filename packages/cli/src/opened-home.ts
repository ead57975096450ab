import type { SyncStatus, Workspace } from "@coppice/client";
import type { Home } from "@coppice/home";

/** Something with a connection to the relay: a session or the workspace's list. */
export interface Connected {
  status(): SyncStatus;
  /** Calls the listener after the status may have changed. */
  subscribe(listener: () => void): () => void;
}

/** A home whose workspace is open in this process. */
export interface OpenHome {
  readonly home: Home;
  readonly workspace: Workspace;
  /**
   * True when the workspace is that of a running `sync`, which does this for a command of another process: sessions stay
   * open, and commands beside this one act on the same ones.
   */
  readonly isShared: boolean;
  /** The outcome of a wait for the relay; false as soon as there is no point in waiting any longer. */
  waitFor(connected: Connected, wait: Promise<boolean>): Promise<boolean>;
  /** To be called before something is written. Throws `closed` when nobody waits for the command any more. */
  assertWanted(): void;
}
