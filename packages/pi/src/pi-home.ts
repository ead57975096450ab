import type { SessionHints, Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { findHome, openHomeWorkspace, readGitState } from "@coppice/home";

/** A home that the engine has open. */
export interface OpenedPiHome {
  readonly workspace: Workspace;
  /** Address of the relay; undefined: the workspace has none. */
  readonly relay: string | undefined;
  /** Closes workspace and store. */
  close(): Promise<void>;
}

/** Opens the home's store and workspace. Rejects `not_found` when the folder has none, else as `openHomeWorkspace`. */
export async function openPiHome(folder: string): Promise<OpenedPiHome> {
  const home = await findHome(folder);
  if (home === undefined)
    throw new SessionError("not_found", "this device is in no workspace yet; /coppice pair makes or joins one");
  // Waits for the relay are those of a pi that ends: one that cannot be reached must not hold it up.
  const { workspace, close } = await openHomeWorkspace(home, { endWaitsWhenUnreachable: true });
  return { workspace, relay: home.relay, close };
}

/** What a folder has to do with a repository; empty outside of one. */
export async function readGitHints(cwd: string): Promise<SessionHints> {
  const { remote, commit } = await readGitState(cwd);
  return {
    ...(remote === undefined ? {} : { gitRemote: remote }),
    ...(commit === undefined ? {} : { gitCommit: commit }),
  };
}
