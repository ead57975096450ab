export type { OpenedSessionManager, OpenSessionManagerOptions, SessionManagerClass } from "./open-session-manager.ts";
export { openSessionManager } from "./open-session-manager.ts";
