import type {
  ListSessionsOptions,
  SharedSession,
  SyncStatus,
  Workspace,
  WorkspaceDevice,
  WorkspaceSession,
} from "@coppice/client";
import {
  createContext,
  createElement,
  type FunctionComponentElement,
  type ProviderProps,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";
import type { SessionState } from "./held-sessions.ts";
import { keepEqual, keepEqualItems } from "./keep-equal.ts";
import { LiveValue } from "./live-value.ts";
import { partsOfSession, partsOfWorkspace } from "./shared-parts.ts";
import { useLiveValue } from "./use-live-value.ts";

interface ProvidedWorkspace {
  readonly workspace: Workspace;
  readonly keepOpenMs: number;
}

/** What `WorkspaceProvider` takes. */
export interface WorkspaceProviderProps {
  /** An open workspace. Closing it is its opener's, after the components are gone. */
  readonly workspace: Workspace;
  /**
   * How long, in ms, a session stays open after the last component that used it is gone; what still waits for the relay
   * keeps it open longer. Default 10,000; `Infinity`: until the workspace is closed.
   */
  readonly keepOpenMs?: number;
  readonly children?: ReactNode;
}

/** Somebody who goes to the list and back finds the session as it was. */
const defaultKeepOpenMs = 10_000;

const WorkspaceContext = createContext<ProvidedWorkspace | undefined>(undefined);

/** Gives the components below it a workspace. */
export function WorkspaceProvider({
  workspace,
  keepOpenMs = defaultKeepOpenMs,
  children,
}: WorkspaceProviderProps): FunctionComponentElement<ProviderProps<ProvidedWorkspace | undefined>> {
  const value = useMemo(() => ({ workspace, keepOpenMs }), [workspace, keepOpenMs]);
  return createElement(WorkspaceContext.Provider, { value }, children);
}

function useProvided(): ProvidedWorkspace {
  const provided = useContext(WorkspaceContext);
  if (provided === undefined) throw new Error("This component needs a WorkspaceProvider above it.");
  return provided;
}

/** The workspace of the `WorkspaceProvider` above. Throws an Error when there is none, as every hook that needs it does. */
export function useWorkspace(): Workspace {
  return useProvided().workspace;
}

/**
 * The sessions of the workspace, as `listSessions` gives them: newest first. A session is the same object as long as the
 * list says the same of it.
 */
export function useSessions(options: ListSessionsOptions = {}): readonly WorkspaceSession[] {
  const workspace = useWorkspace();
  const { archived, deleted = false, cwd } = options;
  const value = useMemo(() => {
    const wanted = { deleted, ...(archived === undefined ? {} : { archived }), ...(cwd === undefined ? {} : { cwd }) };
    return new LiveValue({
      feed: partsOfWorkspace(workspace).feed,
      // What a deleted session has that was never sent is counted with the status.
      kinds: deleted ? (["sessions", "status"] as const) : (["sessions"] as const),
      read: (before: readonly WorkspaceSession[] | undefined) =>
        keepEqualItems(before, workspace.listSessions(wanted), ({ id }) => id),
    });
  }, [workspace, archived, deleted, cwd]);
  return useLiveValue(value);
}

/** The devices of the workspace, in the order in which they first wrote to it. */
export function useDevices(): readonly WorkspaceDevice[] {
  const workspace = useWorkspace();
  const value = useMemo(
    () =>
      new LiveValue({
        feed: partsOfWorkspace(workspace).feed,
        kinds: ["sessions", "device"] as const,
        read: (before: readonly WorkspaceDevice[] | undefined) =>
          keepEqualItems(before, workspace.devices(), ({ id }) => id),
      }),
    [workspace],
  );
  return useLiveValue(value);
}

/**
 * Opens a session while the component is mounted. All components share one open session; it closes some time after the
 * last of them is gone (`keepOpenMs`), whoever opened it first. A session that is deleted opens with what is here.
 */
export function useSession(sessionId: string): SessionState {
  const { workspace, keepOpenMs } = useProvided();
  const [subscribe, getState] = useMemo(() => {
    const held = partsOfWorkspace(workspace).sessions.get(sessionId);
    return [(listener: () => void) => held.hold(listener, keepOpenMs), held.getState] as const;
  }, [workspace, sessionId, keepOpenMs]);
  return useSyncExternalStore(subscribe, getState, getState);
}

/**
 * What is saved here and what is at the relay. Of a workspace: of its list and all its open sessions together
 * (`overallStatus`).
 */
export function useSyncStatus(source: Workspace | SharedSession): SyncStatus {
  const value = useMemo(
    () =>
      isWorkspace(source)
        ? new LiveValue({
            feed: partsOfWorkspace(source).feed,
            kinds: ["status"] as const,
            read: (before: SyncStatus | undefined) => keepEqual(before, source.overallStatus()),
          })
        : new LiveValue({
            feed: partsOfSession(source).feed,
            kinds: ["status"] as const,
            read: (before: SyncStatus | undefined) => keepEqual(before, source.status()),
          }),
    [source],
  );
  return useLiveValue<SyncStatus>(value);
}

function isWorkspace(source: Workspace | SharedSession): source is Workspace {
  return "overallStatus" in source;
}
