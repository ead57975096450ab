import { hash } from "node:crypto";
import type { Sha256 } from "@coppice/wire";

/** SHA-256 of Node. */
export const sha256: Sha256 = (bytes) => hash("sha256", bytes, "buffer");
