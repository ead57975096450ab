/** What pi loads, by its path in package.json. */
import { coppiceExtension } from "./coppice-extension.ts";

export default coppiceExtension;
