export type { PairingInvitation } from "./pairing-link.ts";
export { formatPairingLink, isPairingLink, parsePairingLink, parseRelayAddress } from "./pairing-link.ts";
export { openWorkspace } from "./workspace.ts";
export type {
  ConnectionState,
  CreateSessionOptions,
  DeviceIdentity,
  ImportOptions,
  ImportResult,
  ImportSource,
  OpenWorkspaceOptions,
  RelayLinkTimings,
  ReplicaStatus,
  ResumePlan,
  ResumePolicy,
  SessionCursor,
  SharedSession,
  WebSocketConstructor,
  Workspace,
  WorkspaceSession,
} from "./workspace-types.ts";
