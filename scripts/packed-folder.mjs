/**
 * The folder that `npm run pack` makes. It is an app of its own: a package.json that depends on the tarballs beside it,
 * so that one `npm install` there brings the command with one copy of yjs. `npm install --global TARBALL…` would give
 * each of them a yjs of its own, and two loaded copies break each other.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { packPackages, rootFolder } from "./toolchain.mjs";

const appName = "coppice-packed";

/**
 * Makes the folder anew. Throws when it holds something else. Returns the names of the tarballs, the command that installs
 * from beside the folder, and where the command is then.
 */
export function makePackedFolder(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0 && readAppName(folder) !== appName)
    throw new Error(`${folder} is not empty; choose another folder, or empty it first.`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  packPackages(folder);
  const tarballs = readdirSync(folder).sort();
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(makeAppManifest(readManifests()), null, 2)}\n`);
  // A lock file would hold the tarballs of an earlier pack against those of the next; lmdb brings its binaries built.
  writeFileSync(join(folder, ".npmrc"), "package-lock=false\nignore-scripts=true\n");
  const name = basename(folder);
  return {
    tarballs,
    installCommand: `npm install --prefix ${name}`,
    commandPath: `${name}/node_modules/.bin/coppice`,
  };
}

/** Manifests of the public packages, by name. */
export function readManifests() {
  const packages = join(rootFolder, "packages");
  const manifests = readdirSync(packages).map((folder) =>
    JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8")),
  );
  return new Map(manifests.map((manifest) => [manifest.name, manifest]));
}

/** A package.json that depends on the tarballs of `coppice` and of what it is made of, and on nothing else. */
export function makeAppManifest(manifestByName) {
  const needed = new Set();
  const add = (name) => {
    if (needed.has(name) || !manifestByName.has(name)) return;
    needed.add(name);
    for (const dependency of Object.keys(manifestByName.get(name).dependencies ?? {})) add(dependency);
  };
  add("coppice");
  const dependencies = [...needed].sort().map((name) => {
    const { version } = manifestByName.get(name);
    return [name, `file:${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`];
  });
  return { name: appName, private: true, dependencies: Object.fromEntries(dependencies) };
}

function readAppName(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name;
  } catch {
    return undefined;
  }
}
