export { appFolder } from "./server/app-folder.ts";
