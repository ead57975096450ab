import { fileURLToPath } from "node:url";

/** The folder of the built app; the same from the sources as from what is published. */
export const appFolder: string = fileURLToPath(new URL("../../dist/app", import.meta.url));
