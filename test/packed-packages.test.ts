import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
/** What yjs says when it is loaded a second time. */
const warning = "Yjs was already imported";
const libraries = ["@coppice/client", "@coppice/core", "@coppice/storage-yjs", "@coppice/storage-yjs/node"];

// Installing the packed packages with npm, and bundling them with Vite, is what `node scripts/check-install.mjs` does as
// a step of `pnpm check`: it takes long and needs a registry.
describe("programs that use the packages and yjs", () => {
  const byImport = (name: string): string => `await import("${name}")`;
  const programs = {
    "an ES module": { flags: ["--input-type=module"], load: byImport, loadYjs: byImport },
    "CommonJS by import()": { flags: ["--input-type=commonjs"], load: byImport, loadYjs: byImport },
    "CommonJS by require(), yjs by import()": {
      flags: ["--input-type=commonjs"],
      load: (name: string) => `require("${name}")`,
      loadYjs: byImport,
    },
  };

  it.each(Object.entries(programs))("[PK6] F79: %s loads one yjs", (_, { flags, load, loadYjs }) => {
    const program = `(async () => {
      ${libraries.map((name) => `${load(name)};`).join("\n")}
      const { YjsSessionStorage } = ${load("@coppice/storage-yjs")};
      const { Doc } = ${loadYjs("yjs")};
      const storage = await YjsSessionStorage.open({ doc: new Doc(), sessionId: "s", deviceId: "d", synced: true });
      console.log(await storage.getLeafId());
    })();`;
    const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, "-e", program], {
      cwd: join(root, "test"),
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "null\n", stderr: "" });
  });

  it("[PK6] F79: a second yjs, the one that require() loads, is told of by yjs and refused by us", () => {
    const program = `(async () => {
      const { YjsSessionStorage } = await import("@coppice/storage-yjs");
      const { Doc } = require("yjs");
      await YjsSessionStorage.open({ doc: new Doc(), sessionId: "s", deviceId: "d", synced: true }).catch((error) => console.log(error.code));
    })();`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=commonjs", "-e", program], {
      cwd: join(root, "test"),
      encoding: "utf8",
    });
    expect(stdout).toBe("version_mismatch\n");
    expect(stderr).toContain(warning);
  });
});

describe("what is published", () => {
  const packages = readdirSync(join(root, "packages"));

  it("[PK7] F80: no built file carries a yjs of its own", () => {
    const built = packages.flatMap((name) => {
      const folder = join(root, "packages", name, "dist");
      return (
        readdirSync(folder, { recursive: true, encoding: "utf8" })
          .filter((path) => path.endsWith(".js"))
          // The app for browsers is a page, complete in itself: nobody imports it.
          .filter((path) => name !== "web" || !/^app[/\\]/.test(path))
          .map((path) => join(folder, path))
      );
    });
    expect(built.length).toBeGreaterThan(100);
    expect(built.filter((path) => readFileSync(path, "utf8").includes(warning))).toEqual([]);
  });

  it("[PK8] a packed folder installs the command with all that it is made of, from the tarballs beside it", async () => {
    // Plain JavaScript without types: it runs before anything is installed.
    const { makeAppManifest, readManifests } = await import(
      new URL("../scripts/packed-folder.mjs", import.meta.url).href
    );
    const manifests: Map<string, { version: string; dependencies?: Record<string, string> }> = readManifests();
    const { dependencies, name } = makeAppManifest(manifests);
    expect(name).toBe("coppice-packed");
    expect(Object.keys(dependencies)).toContain("coppice");
    expect(Object.keys(dependencies)).not.toContain("@coppice/testkit");
    for (const [dependency, source] of Object.entries(dependencies)) {
      const manifest = manifests.get(dependency);
      expect(source).toBe(`file:${dependency.replace("@", "").replace("/", "-")}-${manifest?.version}.tgz`);
      // Whatever one of them needs of ours is there too: npm would look for it in the registry.
      for (const needed of Object.keys(manifest?.dependencies ?? {}))
        if (manifests.has(needed)) expect(Object.keys(dependencies)).toContain(needed);
    }
  });
});
