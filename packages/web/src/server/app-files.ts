import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";

/** How a file may go over the wire. */
type Encoding = "br" | "gzip" | "identity";

/** A file of the app, in memory. */
export interface AppFile {
  readonly type: string;
  /** Its name changes with its content, so that whoever has it need never ask again. */
  readonly isImmutable: boolean;
  /** Of the content, without quotes. */
  readonly hash: string;
  readonly bytes: ReadonlyMap<Encoding, Buffer>;
}

const typesByExtension: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".json", "application/json; charset=utf-8"],
  [".webmanifest", "application/manifest+json; charset=utf-8"],
  [".svg", "image/svg+xml; charset=utf-8"],
  [".png", "image/png"],
  [".woff2", "font/woff2"],
]);

const suffixes = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/**
 * Reads every file of a built app that has a type a browser is sent, by its path in an address (`/assets/…`). What is not
 * in the map when the server starts is never served, whatever an address says. Throws when the folder cannot be read.
 */
export function readAppFiles(folder: string): ReadonlyMap<string, AppFile> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => relative(folder, join(item.parentPath ?? item.path, item.name)));
  const known = new Set(names);
  const files = new Map<string, AppFile>();
  for (const name of names) {
    const type = typesByExtension.get(extname(name));
    if (type === undefined) continue;
    const read = (suffix: string): Buffer => readFileSync(join(folder, name + suffix));
    const plain = read("");
    const compressed = suffixes.filter(([, suffix]) => known.has(name + suffix));
    files.set(`/${name.split(sep).join("/")}`, {
      type,
      isImmutable: name.startsWith(`assets${sep}`),
      hash: createHash("sha256").update(plain).digest("base64url").slice(0, 22),
      bytes: new Map<Encoding, Buffer>([
        ...compressed.map(([encoding, suffix]): [Encoding, Buffer] => [encoding, read(suffix)]),
        ["identity", plain],
      ]),
    });
  }
  return files;
}
