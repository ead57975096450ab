export type {
  DeviceReference,
  ReplicaShape,
  SessionReference,
  TreeEntryShape,
} from "./json-shapes.ts";
export { jsonVersion } from "./json-shapes.ts";
export type { RenderTreeOptions, TreeCursor, TreePicture } from "./render-tree.ts";
export { renderTree } from "./render-tree.ts";
export type { CliSurroundings } from "./run-cli.ts";
export { runCli } from "./run-cli.ts";
