export type { PairingInvitation } from "./pairing-link.ts";
export { formatPairingLink, isPairingLink, parsePairingLink, parseRelayAddress } from "./pairing-link.ts";
export type { LocalStatus, RelayStatus, SyncStatus } from "./sync-status.ts";
export { openWorkspace } from "./workspace.ts";
export type {
  CreateSessionOptions,
  DeviceIdentity,
  ImportOptions,
  ImportResult,
  ImportSource,
  OpenWorkspaceOptions,
  RelayLinkTimings,
  ResumePlan,
  ResumePolicy,
  SessionCursor,
  SharedSession,
  WebSocketConstructor,
  Workspace,
  WorkspaceSession,
} from "./workspace-types.ts";
