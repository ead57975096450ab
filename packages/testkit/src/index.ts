export { besideForeignWriter } from "./beside-foreign-writer.ts";
export { describeSessionStorage } from "./describe-session-storage.ts";
export { describeUpdateLog } from "./describe-update-log.ts";
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
export { expectCode } from "./session-storage-under-test.ts";
export type { SimulationSettings } from "./simulation-settings.ts";
export { readSimulationSettings, simulationTimeoutMs } from "./simulation-settings.ts";
export type { UpdateStoreFactory, UpdateStoreUnderTest } from "./update-store-under-test.ts";
export { bytesOf, nextCall, patternOf, range, readAll } from "./update-store-under-test.ts";
