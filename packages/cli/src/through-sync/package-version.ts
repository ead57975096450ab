import { readFileSync } from "node:fs";

/** The version of this package, as installed. */
export function readPackageVersion(): string {
  // Two levels up from here, in `src` as in `dist`.
  const path = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
