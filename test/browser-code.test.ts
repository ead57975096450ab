import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Node, parseSync, Visitor } from "oxc-parser";
import { describe, expect, it } from "vitest";

// The same code runs in Node and in browsers, so what is built is read file by file from each package's entry on, as a
// bundler would, for anything that a browser does not have.

const root = fileURLToPath(new URL("..", import.meta.url));
const browserPackages = ["core", "storage-yjs", "wire", "client"];

/** Globals that Node alone has. Read off `globalThis`, or asked for by `typeof`, they are no error in a browser. */
const nodeGlobals = new Set(["Buffer", "process", "global", "require", "module", "__dirname", "__filename"]);
const nodeModules = new Set(builtinModules);

interface Module {
  readonly path: string;
  /** Module names as they stand in imports, dynamic ones included. */
  readonly imports: readonly string[];
  /** Names of Node's globals that it reads. */
  readonly globals: readonly string[];
}

describe.each(browserPackages)("packages/%s as it is built", (folder) => {
  const modules = readGraph(join(root, "packages", folder, "dist", "index.js"));

  it("[PK4] imports nothing that only Node has, and nothing that is not among its dependencies", () => {
    const manifest = readManifest(join("packages", folder));
    const allowed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
    const outside = modules.flatMap(({ path, imports }) =>
      imports.filter((name) => !name.startsWith(".")).map((name) => ({ path, name })),
    );
    expect(outside.filter(({ name }) => isOfNode(name))).toEqual([]);
    expect(outside.filter(({ name }) => !allowed.has(packageOf(name)))).toEqual([]);
    // Of its neighbours it takes the main entry, which is read here too: "/node" is for apps to choose.
    const neighbours = outside.filter(({ name }) => name.startsWith("@coppice/"));
    expect(neighbours.filter(({ name }) => !browserPackages.includes(name.slice("@coppice/".length)))).toEqual([]);
  });

  it("[PK4] reads no global that only Node has", () => {
    expect(modules.length).toBeGreaterThan(3);
    expect(modules.filter(({ globals }) => globals.length > 0)).toEqual([]);
  });
});

it("[PK4] what is looked for is found", () => {
  const text = `import fs from "node:fs"; import("crypto"); const a = { Buffer: process.env }; a.process; typeof require; globalThis.Buffer;`;
  const found = readModule("example.js", text);
  expect(found).toEqual({ path: "example.js", imports: ["node:fs", "crypto"], globals: ["process"] });
  expect(found.imports.every(isOfNode)).toBe(true);
});

describe("yjs", () => {
  const folders = ["packages", "examples"].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name)),
  );
  const users = [...folders, "test", "bench"].filter((folder) => existsSync(join(root, folder, "node_modules", "yjs")));

  it("[PK5] is one and the same copy for every package, and for the libraries that bring it along", () => {
    const copies = users.flatMap((folder) => {
      const require = createRequire(join(root, folder, "package.json"));
      const own = require.resolve("yjs");
      const through = ["y-websocket", "y-protocols/sync"].flatMap((name) => {
        if (!existsSync(join(root, folder, "node_modules", packageOf(name)))) return [];
        return [createRequire(require.resolve(name)).resolve("yjs")];
      });
      return [own, ...through].map((path) => realpathSync(path));
    });
    expect(copies.length).toBeGreaterThan(users.length);
    expect([...new Set(copies)]).toHaveLength(1);
  });

  it("[PK5] is a peer dependency of every library that imports it, and a dependency of none", () => {
    const importers = readdirSync(join(root, "packages")).filter((folder) => {
      const entry = join(root, "packages", folder, "dist", "index.js");
      return existsSync(entry) && readGraph(entry).some(({ imports }) => imports.includes("yjs"));
    });
    expect(importers).toEqual(expect.arrayContaining(["client", "storage-yjs"]));
    for (const folder of importers) {
      const { dependencies, peerDependencies } = readManifest(join("packages", folder));
      expect({ folder, peer: peerDependencies?.yjs, own: dependencies?.yjs }).toEqual({ folder, peer: "catalog:" });
    }
  });
});

/** A built file and all that it imports from its own package. Throws when it has not been built. */
function readGraph(entry: string): Module[] {
  const modulesByPath = new Map<string, Module>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (modulesByPath.has(path)) continue;
    const module = readModule(relative(root, path), readFileSync(path, "utf8"));
    modulesByPath.set(path, module);
    for (const name of module.imports) if (name.startsWith(".")) waiting.push(resolve(dirname(path), name));
  }
  return [...modulesByPath.values()];
}

function readModule(path: string, text: string): Module {
  const { program, module } = parseSync(path, text);
  const imports = [...module.staticImports, ...module.staticExports.flatMap(({ entries }) => entries)].flatMap(
    (from) => ("moduleRequest" in from && from.moduleRequest ? [from.moduleRequest.value] : []),
  );
  // A dynamic import is given by its place in the text; one of a computed name is left as it stands, and so not allowed.
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start, end).slice(1, -1));
  const globals = new Set<string>();
  const notRead = new Set<Node>();
  new Visitor({
    MemberExpression: ({ property, computed }) => void (computed || notRead.add(property)),
    Property: ({ key, computed }) => void (computed || notRead.add(key)),
    MethodDefinition: ({ key, computed }) => void (computed || notRead.add(key)),
    PropertyDefinition: ({ key, computed }) => void (computed || notRead.add(key)),
    UnaryExpression: ({ operator, argument }) => void (operator === "typeof" && notRead.add(argument)),
    Identifier: (node) => void (nodeGlobals.has(node.name) && !notRead.has(node) && globals.add(node.name)),
  }).visit(program);
  return { path, imports: [...new Set([...imports, ...dynamic])], globals: [...globals] };
}

function isOfNode(name: string): boolean {
  return name.startsWith("node:") || nodeModules.has(packageOf(name));
}

/** The package of a module name: without the path in it. */
function packageOf(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

function readManifest(folder: string): {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}
