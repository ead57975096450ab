export type {
  ConnectionState,
  CreateSessionOptions,
  DeviceIdentity,
  ImportResult,
  ImportSource,
  OpenWorkspaceOptions,
  ReplicaStatus,
  SessionCursor,
  SharedSession,
  WebSocketConstructor,
  Workspace,
  WorkspaceSession,
} from "./workspace-types.ts";
