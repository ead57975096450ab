/**
 * Builds the app into dist/app and puts a compressed copy beside every file that gains by it. Does nothing when exactly
 * this has been built before: `npm start` and `npm test` come through here each time. Needs the packages compiled.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const packageFolder = fileURLToPath(new URL(".", import.meta.url));
const packagesFolder = join(packageFolder, "..");
const appFolder = join(packageFolder, "dist", "app");
const stampFile = join(packageFolder, "node_modules", ".app-built-from");
const compressible = /\.(html|js|css|svg|json|webmanifest|txt)$/;

const source = hashSources();
if (!existsSync(stampFile) || !existsSync(appFolder) || readFileSync(stampFile, "utf8") !== source) {
  const { build } = await import("vite");
  await build({ root: packageFolder, logLevel: "warn" });
  writeServiceWorker();
  for (const path of listFiles(appFolder)) if (compressible.test(path)) writeCompressed(path);
  writeFileSync(stampFile, source);
}

/** Of all that goes into the app: its own files, our compiled packages, and the versions of everything else. */
function hashSources() {
  const hash = createHash("sha256");
  const own = ["src", "public"].flatMap((folder) => listFiles(join(packageFolder, folder)));
  const ownFiles = ["index.html", "vite.config.ts", "package.json", "build-app.mjs", "service-worker.js"];
  const compiled = readdirSync(packagesFolder)
    .map((name) => join(packagesFolder, name, "dist"))
    .filter((folder) => folder !== join(packageFolder, "dist") && existsSync(folder))
    .flatMap(listFiles);
  const files = [
    ...own.filter((path) => !/\.test\.tsx?$/.test(path)),
    ...ownFiles.map((name) => join(packageFolder, name)),
    ...compiled.filter((path) => path.endsWith(".js")),
    join(packagesFolder, "..", "pnpm-lock.yaml"),
  ];
  for (const path of files.sort())
    hash
      .update(`${path.slice(packagesFolder.length)}\0`)
      .update(readFileSync(path))
      .update("\0");
  return hash.digest("hex");
}

/** Fills in what it keeps: every file of this build. Its own bytes change with any of them, which is how browsers notice. */
function writeServiceWorker() {
  const hash = createHash("sha256");
  const paths = listFiles(appFolder).sort();
  for (const path of paths) hash.update(`${path.slice(appFolder.length)}\0`).update(readFileSync(path));
  const addresses = paths
    .map((path) => path.slice(appFolder.length).split(sep).join("/"))
    .map((path) => (path === "/index.html" ? "/" : path));
  const text = readFileSync(join(packageFolder, "service-worker.js"), "utf8")
    .replace('["__FILES__"]', JSON.stringify(addresses))
    .replace("__VERSION__", hash.digest("hex").slice(0, 16));
  writeFileSync(join(appFolder, "sw.js"), text);
}

function listFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => join(item.parentPath ?? item.path, item.name));
}

function writeCompressed(path) {
  const bytes = readFileSync(path);
  const size = constants.BROTLI_PARAM_SIZE_HINT;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [size]: bytes.length };
  const copies = { br: brotliCompressSync(bytes, { params }), gz: gzipSync(bytes, { level: 9 }) };
  for (const [suffix, copy] of Object.entries(copies))
    if (copy.length < bytes.length) writeFileSync(`${path}.${suffix}`, copy);
}
