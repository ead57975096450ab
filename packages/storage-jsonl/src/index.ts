export type { NewSession } from "./create-session-file.ts";
export type { SessionFileEntry } from "./entry-lines.ts";
export type { ExportForPiOptions } from "./export-for-pi.ts";
export { exportForPi, exportForPiAgentCore } from "./export-for-pi.ts";
export type {
  FindSessionFilesOptions,
  FoundSessionFile,
  FoundSessionFiles,
  RejectedPath,
} from "./find-session-files.ts";
export { findSessionFiles } from "./find-session-files.ts";
export type {
  JsonlSessionCreateOptions,
  JsonlSessionListOptions,
  JsonlSessionRepoOptions,
} from "./jsonl-session-repo.ts";
export { JsonlSessionRepo } from "./jsonl-session-repo.ts";
export type {
  JsonlSessionMetadata,
  JsonlSessionStorageOptions,
  OpenJsonlSessionOptions,
} from "./jsonl-session-storage.ts";
export { JsonlSessionStorage } from "./jsonl-session-storage.ts";
export { findPiFile, piFileName, piSessionPath } from "./pi-session-files.ts";
export type { ReadSessionFileOptions, SessionFile } from "./session-file.ts";
export { readSessionFile } from "./session-file.ts";
export type { LineNote, SessionFileReport } from "./session-file-report.ts";
export type { LeftOutEntry, PiFileUpdate, WriteForPiOptions } from "./write-for-pi.ts";
export { writeForPi } from "./write-for-pi.ts";
