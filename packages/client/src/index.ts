export type { HasGitRemote, RemoteGroup } from "./git-remote.ts";
export { groupSessionsByRemote, normalizeGitRemote, removeCredentials } from "./git-remote.ts";
export type { NetworkSignal } from "./network-signal.ts";
export type { PairingInvitation } from "./pairing-link.ts";
export {
  formatPairingLink,
  formatWebLink,
  isPairingLink,
  parsePairingLink,
  parseRelayAddress,
} from "./pairing-link.ts";
export type { RandomSource } from "./retry-delay.ts";
export type { SessionLocals } from "./session-locals.ts";
export type { SessionProblem } from "./session-problems.ts";
export type { LocalStatus, RelayStatus, SyncStatus } from "./sync-status.ts";
export type { TokenSource } from "./token-gate.ts";
export { openWorkspace } from "./workspace.ts";
export type { SessionHints } from "./workspace-records.ts";
export type {
  BranchEvent,
  CreateSessionOptions,
  DeletionEvent,
  DeviceIdentity,
  ForkSessionOptions,
  ImportOptions,
  ImportResult,
  ImportSource,
  ListSessionsOptions,
  OpenWorkspaceOptions,
  RelayLinkTimings,
  ResumePlan,
  ResumePolicy,
  SessionChangeKind,
  SessionCursor,
  SessionNode,
  SessionTreeView,
  SharedSession,
  WebSocketConstructor,
  Workspace,
  WorkspaceDevice,
  WorkspaceSession,
} from "./workspace-types.ts";
