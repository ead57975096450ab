import { destination, type Logger, pino, stdTimeFunctions } from "pino";

/** How much a relay reports: what went wrong, also what is unusual, also what is usual (each refused connection). */
export type RelayLogLevel = "error" | "warn" | "info";

/**
 * A logger that writes one JSON object per line to stderr: time, level, message, and the room by its id where there is
 * one. What devices send, and secrets, are never among it.
 */
export function createRelayLogger(level: RelayLogLevel): Logger {
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, destination({ fd: 2, sync: true }));
}
