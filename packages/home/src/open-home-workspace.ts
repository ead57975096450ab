import type { OpenWorkspaceOptions, Workspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { ensureWritableFolder, type Home, storeFolderOf } from "./home.ts";

/** How the workspace of a home is opened; the rest is the home's, and this machine's. */
export interface OpenHomeWorkspaceOptions
  extends Pick<
    OpenWorkspaceOptions,
    "cursor" | "endWaitsWhenUnreachable" | "networkSignal" | "timings" | "token" | "copyGraceMs"
  > {
  /** True: no connection is opened, whatever relay the home has. Default false. */
  readonly offline?: boolean;
}

/** A home whose store and workspace are open in this process. */
export interface HomeWorkspace {
  readonly store: UpdateStore;
  readonly workspace: Workspace;
  /** Closes the workspace with its sessions, then the store. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens the store of a home and the workspace in it, with this machine's sockets and cryptography, which are loaded only
 * now: whoever just asks where a home is waits for none of them. Several processes may have a home open. Rejects
 * `storage` when its folder cannot be read and written, and as `openWorkspace` does; nothing stays open then.
 */
export async function openHomeWorkspace(home: Home, options: OpenHomeWorkspaceOptions = {}): Promise<HomeWorkspace> {
  const { offline = false, ...workspaceOptions } = options;
  const { folder, device, workspaceKey } = home;
  await ensureWritableFolder(storeFolderOf(folder));
  const [{ openWorkspace }, { openLmdbStore }, { nodeRecordCrypto }, { relaySocketClass }] = await Promise.all([
    import("@coppice/client"),
    import("@coppice/persist-lmdb"),
    import("@coppice/storage-yjs/node"),
    import("./relay-socket.ts"),
  ]);
  const store = await openLmdbStore({ path: storeFolderOf(folder) });
  try {
    const workspace = await openWorkspace({
      ...workspaceOptions,
      store,
      device,
      workspaceKey,
      relay: offline ? undefined : home.relay,
      webSocket: relaySocketClass,
      crypto: nodeRecordCrypto,
    });
    return {
      store,
      workspace,
      close: async () => {
        try {
          await workspace.close();
        } finally {
          await store.close();
        }
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
