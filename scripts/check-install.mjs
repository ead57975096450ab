/**
 * Installs the packed packages as somebody with npm would, into an empty folder, and uses them there: the command, an ES
 * module, a CommonJS program and a bundle that Vite makes. Prints one line per use; exit code 1 when one failed. What
 * must hold everywhere: one yjs in the tree, and its warning about a second copy is never printed. Needs the build, and
 * a registry for what is not ours.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { makePackedFolder } from "./packed-folder.mjs";
import { rootFolder } from "./toolchain.mjs";

/** What yjs says when it is loaded a second time. */
const warning = "Yjs was already imported";

/** The same in each kind of program: an entry goes through a document of the program's own yjs. */
const program = (load) => `
(async () => {
  const { YjsSessionStorage } = ${load("@coppice/storage-yjs")};
  const { openWorkspace } = ${load("@coppice/client")};
  const { Session } = ${load("@coppice/core")};
  const Y = ${load("yjs", "import")};
  const doc = new Y.Doc();
  const storage = await YjsSessionStorage.open({ doc, sessionId: "s", deviceId: "d", synced: true });
  await storage.create('{"type":"session","version":3,"id":"s","timestamp":"2026-12-01T10:00:00.000Z","cwd":"/"}');
  await new Session(storage).appendMessage({ role: "user", content: "hello" });
  console.log((await storage.getEntries()).length, typeof openWorkspace);
})();
`;
const byImport = (name) => `await import(${JSON.stringify(name)})`;
const byRequire = (name, how) => (how === "import" ? byImport(name) : `require(${JSON.stringify(name)})`);

const folder = mkdtempSync(join(tmpdir(), "coppice-install-"));
let failures = 0;
try {
  const app = join(folder, "packed");
  const { installCommand } = makePackedFolder(app);
  await check(`${installCommand} brings one yjs`, () => {
    execFileSync("npm", [...installCommand.split(" ").slice(1), "--prefer-offline", "--no-audit", "--no-fund"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      shell: process.platform === "win32",
    });
    const copies = readdirSync(app, { recursive: true }).filter((path) => /(^|[\\/])node_modules[\\/]yjs$/.test(path));
    if (copies.length !== 1) throw new Error(`yjs is there ${copies.length} times: ${copies.join(", ")}`);
  });
  await check("the command makes a home, serves, imports and draws the tree, and has the app for browsers", () =>
    useCommand(app),
  );
  await check("an ES module", () => runProgram(app, "app.mjs", program(byImport)));
  await check("a CommonJS program, by import()", () => runProgram(app, "imports.cjs", program(byImport)));
  await check("a CommonJS program, by require() of ours and import() of yjs", () =>
    runProgram(app, "requires.cjs", program(byRequire)),
  );
  await check("a CommonJS program that requires yjs itself is told of the second copy", () => {
    const requireAll = (name) => `require(${JSON.stringify(name)})`;
    try {
      runProgram(app, "two-copies.cjs", program(requireAll));
    } catch (error) {
      if (error.message.includes(warning)) return;
      throw error;
    }
    throw new Error("Nobody said so: these checks would not notice a second copy either.");
  });
  await check("a bundle that Vite makes has one yjs", () => useVite(app));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

async function check(name, use) {
  try {
    await use();
    console.log(`ok      ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${name}\n${error.stderr ?? ""}${error.stack ?? error}`);
  }
}

/** Runs Node; throws unless it ends well and says nothing on stderr but what Node says of require() itself. */
function runNode(args, options) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", ...options });
  if (status !== 0 || stderr.includes(warning) || /^coppice: /m.test(stderr))
    throw new Error(`node ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

function runProgram(app, name, text) {
  writeFileSync(join(app, name), text);
  const stdout = runNode([name], { cwd: app });
  if (stdout !== "1 function\n") throw new Error(`${name} printed ${stdout}`);
}

async function useCommand(app) {
  const command = join(app, "node_modules", "coppice", "bin", "coppice.mjs");
  const run = (home, ...args) => runNode([command, ...args, "--home", join(folder, home)], { cwd: folder });
  runNode([command, "--version"], { cwd: folder });
  const relay = spawn(process.execPath, [command, "serve", "--port", "0", "--json", "--data", join(folder, "relay")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = await once(createInterface({ input: relay.stdout }), "line");
    const { url } = JSON.parse(line);
    await useApp(url.replace(/^ws/, "http"));
    run("laptop", "init", url, "--name", "laptop");
    run("laptop", "import", join(rootFolder, "examples", "two-devices", "flaky-login-test.jsonl"));
    run("desktop", "init", run("laptop", "link").trim(), "--name", "desktop");
    const tree = run("desktop", "tree", "Fix the flaky login test");
    if (!tree.includes("u  Why does the login test fail?")) throw new Error(`The tree is ${tree}`);
  } finally {
    const ended = once(relay, "exit");
    relay.kill("SIGTERM");
    await ended;
  }
}

/** The page that the relay serves, and every script and style it names. */
async function useApp(address) {
  const fetchText = async (path) => {
    const response = await fetch(address + path);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return response.text();
  };
  const page = await fetchText("/");
  const assets = page.match(/\/assets\/[\w.-]+/g) ?? [];
  if (assets.length < 2) throw new Error(`The page is ${page}`);
  for (const path of [...assets, "/sw.js", "/manifest.webmanifest"]) await fetchText(path);
}

async function useVite(app) {
  // Vitest brings it; it is none of our dependencies.
  const require = createRequire(realpathSync(join(rootFolder, "node_modules", "vitest", "package.json")));
  const vitePath = join(dirname(require.resolve("vite/package.json")), "dist", "node", "index.js");
  const { build } = await import(pathToFileURL(vitePath).href);
  writeFileSync(
    join(app, "browser.mjs"),
    `import * as client from "@coppice/client";
import * as core from "@coppice/core";
import * as storage from "@coppice/storage-yjs";
import * as Y from "yjs";
const modules = { "@coppice/client": client, "@coppice/core": core, "@coppice/storage-yjs": storage, yjs: Y };
${program((name) => `modules[${JSON.stringify(name)}]`)}`,
  );
  await build({
    root: app,
    configFile: false,
    logLevel: "error",
    build: { outDir: "bundle", minify: true, lib: { entry: "browser.mjs", formats: ["es"], fileName: "bundle" } },
  });
  const [bundle] = readdirSync(join(app, "bundle"));
  const path = join(app, "bundle", bundle);
  const count = readFileSync(path, "utf8").split(warning).length - 1;
  if (count !== 1) throw new Error(`yjs is in the bundle ${count} times`);
  const stdout = runNode([path], { cwd: folder });
  if (stdout !== "1 function\n") throw new Error(`the bundle printed ${stdout}`);
}
