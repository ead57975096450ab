/*
 * The parts a relay is made of, for simulations that bring their own sockets and store. Not part of the public API.
 */
export type { ConnectionOptions } from "./connection.ts";
export { Connection } from "./connection.ts";
export { defaultRelayLimits } from "./relay-limits.ts";
export { Rooms } from "./rooms.ts";
