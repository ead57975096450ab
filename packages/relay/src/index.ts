export type { RelayLogLevel } from "./create-relay-logger.ts";
export { createRelayLogger } from "./create-relay-logger.ts";
export type { Relay, RelayOptions } from "./open-relay.ts";
export { openRelay } from "./open-relay.ts";
export type { RelayLimits } from "./relay-limits.ts";
export { defaultRelayLimits } from "./relay-limits.ts";
export type { RelayStats } from "./relay-stats.ts";
