import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const readManifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));

describe.each(readdirSync(join(root, "packages")))("packages/%s", (folder) => {
  const manifest = readManifest(`packages/${folder}`);

  it("[PK3] its package.json says what it is, where it runs and what it publishes", () => {
    expect(manifest).toMatchObject({
      name: folder === "cli" ? "coppice" : `@coppice/${folder}`,
      description: expect.stringMatching(/^[A-Z].{20,}/),
      keywords: expect.arrayContaining([expect.any(String)]),
      license: readManifest(".").license,
      type: "module",
      engines: readManifest(".").engines,
      exports: {
        ".": { "coppice-source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
      },
      files: expect.arrayContaining(["dist", "src", "!**/*.test.ts"]),
    });
    // The first condition that applies wins, so the one for users comes last.
    expect(Object.keys(manifest.exports["."])).toEqual(["coppice-source", "types", "default"]);
    // Importing a library does nothing; only the command's own programs do.
    expect(manifest.sideEffects).toEqual(folder === "cli" ? ["./bin/coppice.mjs", "./dist/main.js"] : false);
    expect(manifest.private).toBeUndefined();
  });

  it("[PK3] its README opens with its name", () => {
    const path = join(root, "packages", folder, "README.md");
    expect(existsSync(path) && readFileSync(path, "utf8").split("\n")[0]).toBe(`# ${manifest.name}`);
  });
});
