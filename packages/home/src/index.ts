// The folder, and opening what is in it.

export { describeFileError, readErrorCode } from "./file-errors.ts";
export type { Home, HomeSurroundings } from "./home.ts";
export {
  attachRelay,
  createHome,
  ensureWritableFolder,
  findHome,
  findHomeFolder,
  readHome,
  storeFolderOf,
} from "./home.ts";
export type { HomeWorkspace, OpenHomeWorkspaceOptions } from "./open-home-workspace.ts";
export { openHomeWorkspace } from "./open-home-workspace.ts";

// What a session has to do with code.

export type { GitState, ReadGitStateOptions } from "./git-state.ts";
export { readGitState } from "./git-state.ts";

// pi on this device.

export type { OpenMark, OpenMarksOptions } from "./open-marks.ts";
export { OpenMarks } from "./open-marks.ts";
export type { SwitchedSession, SwitchState } from "./sync-switches.ts";
export { SyncSwitches } from "./sync-switches.ts";
