export { besideForeignWriter } from "./beside-foreign-writer.ts";
export { describeSessionStorage } from "./describe-session-storage.ts";
export { exactTexts } from "./exact-texts.ts";
export type { ForeignWriterOptions } from "./foreign-writer.ts";
export { createForeignIds, ForeignWriter, isForeignId } from "./foreign-writer.ts";
export {
  childrenOf,
  labelOf,
  lastOf,
  leafAfter,
  nameOf,
  pathOf,
  shownNodes,
  statsOf,
  tipsOf,
  waitingOf,
} from "./log-oracle.ts";
export type { IndexReading } from "./read-index.ts";
export { readIndex } from "./read-index.ts";
export type { SessionStorageFactory, SessionStorageUnderTest } from "./session-storage-under-test.ts";
export type { SimulationSettings } from "./simulation-settings.ts";
export { readSimulationSettings, simulationTimeoutMs } from "./simulation-settings.ts";
