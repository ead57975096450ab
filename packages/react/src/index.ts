export type { Branch } from "./branch.ts";
export type { EntryContent } from "./entry-contents.ts";
export type { SessionState } from "./held-sessions.ts";
export type { TreeSnapshot } from "./session-hooks.ts";
export { useBranch, useCursors, useEntry, useLog, useTree } from "./session-hooks.ts";
export type { WorkspaceProviderProps } from "./workspace-hooks.ts";
export {
  useDevices,
  useSession,
  useSessions,
  useSyncStatus,
  useWorkspace,
  WorkspaceProvider,
} from "./workspace-hooks.ts";
