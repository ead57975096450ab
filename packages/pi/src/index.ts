export { coppiceExtension } from "./coppice-extension.ts";
