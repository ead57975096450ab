export { coppiceExtension } from "./extension.ts";
