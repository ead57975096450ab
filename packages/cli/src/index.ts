export type { CliSurroundings } from "./command.ts";
export type {
  DeviceReference,
  SessionReference,
  StateShape,
  TreeEntryShape,
} from "./json-shapes.ts";
export { jsonShapeVersions } from "./json-shapes.ts";
export type { RenderTreeOptions, TreeCursor, TreePicture } from "./render-tree.ts";
export { renderTree } from "./render-tree.ts";
export { runCli } from "./run-cli.ts";
