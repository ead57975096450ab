export type { CommitPhase, DiskFaults, DiskImage, SimulatedDiskOptions } from "./simulated-disk.ts";
export { SimulatedDisk } from "./simulated-disk.ts";
export type {
  AcceptConnection,
  MessageFate,
  SentMessage,
  ServerSocket,
  ServerTransport,
  SimulatedConnection,
  SimulatedNetworkOptions,
} from "./simulated-network.ts";
export { SimulatedNetwork } from "./simulated-network.ts";
export { settlePromises, VirtualTime } from "./virtual-time.ts";
