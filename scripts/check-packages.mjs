/**
 * Packs every public package as it would be published and checks the tarballs: that is what users install, with the
 * versions of `workspace:` and `catalog:` written out and nothing but the published files. Prints one line per package;
 * exit code 1 when something is wrong with one. Needs the build in dist and no network.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { problemAffectsResolutionKind } from "@arethetypeswrong/core/problems";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packPackages } from "./toolchain.mjs";

/** How our packages are found. The others, those of `require` and of Node before 12, are what ESM only gives up. */
const resolutionKinds = ["node16-esm", "bundler"];

const tarballFolder = mkdtempSync(join(tmpdir(), "coppice-packages-"));
try {
  packPackages(tarballFolder);
  let problemCount = 0;
  for (const name of readdirSync(tarballFolder).sort()) {
    const tarball = readFileSync(join(tarballFolder, name));
    const problems = [...checkContents(tarball), ...(await runPublint(tarball)), ...(await checkTypes(tarball))];
    console.log(`${name}: ${problems.length === 0 ? "ok" : problems.map((problem) => `\n  ${problem}`).join("")}`);
    problemCount += problems.length;
  }
  process.exitCode = problemCount === 0 ? 0 : 1;
} finally {
  rmSync(tarballFolder, { recursive: true });
}

/** What the two tools do not look at: files that belong in every package, files that do not, unresolved versions. */
function checkContents(tarball) {
  const contents = createPackageFromTarballData(tarball);
  const folder = `/node_modules/${contents.packageName}/`;
  const files = contents.listFiles().map((path) => path.slice(folder.length));
  const missing = ["LICENSE", "README.md", "dist/index.d.ts", "src/index.ts"].filter((file) => !files.includes(file));
  const unwanted = files.filter((file) => /(^|\/)test\/|\.test\.|\.tsbuildinfo$/.test(file));
  const manifest = contents.readFile(`${folder}package.json`);
  return [
    ...missing.map((file) => `${file} is missing`),
    ...unwanted.map((file) => `${file} should not be published`),
    ...(manifest.match(/"(workspace|catalog):[^"]*"/g) ?? []).map((range) => `package.json still says ${range}`),
  ];
}

async function runPublint(tarball) {
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/** What `attw --profile esm-only` does, in this process, because that loads TypeScript once and not per package. */
async function checkTypes(tarball) {
  const analysis = await checkPackage(createPackageFromTarballData(tarball));
  if (analysis.types === false) return ["attw: no types"];
  return analysis.problems
    .filter((problem) => resolutionKinds.some((kind) => problemAffectsResolutionKind(problem, kind, analysis)))
    .map((problem) => `attw: ${JSON.stringify(problem)}`);
}
