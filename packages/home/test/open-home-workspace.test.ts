import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createHome, readHome, storeFolderOf } from "../src/home.ts";
import { openHomeWorkspace } from "../src/open-home-workspace.ts";
import { makeTempFolder } from "./temp-folder.ts";

const device = { id: "0198f5a2-0000-7000-8000-00000000000d", name: "laptop" };
const workspaceKey = new Uint8Array(32).fill(7);

it("[HM6] a home opens by one call and closes by one, again and again", async () => {
  const folder = join(await makeTempFolder(), "home");
  await createHome(folder, device, { workspaceKey });
  const first = await openHomeWorkspace(await readHome(folder));
  const made = await first.workspace.createSession({ cwd: "/work" });
  await first.close();
  await first.close();
  const second = await openHomeWorkspace(await readHome(folder), { offline: true });
  expect(second.workspace.listSessions().map(({ id }) => id)).toEqual([made.id]);
  await second.close();
});

it("[HM6] a store that opens under a workspace that does not is closed again", async () => {
  const folder = join(await makeTempFolder(), "home");
  await createHome(folder, device, { workspaceKey });
  const home = await readHome(folder);
  await (await openHomeWorkspace(home)).close();
  const wrong = { ...home, workspaceKey: new Uint8Array(32).fill(8) };
  await expect(openHomeWorkspace(wrong)).rejects.toMatchObject({ code: "wrong_key" });
  await (await openHomeWorkspace(home)).close();
  writeFileSync(join(folder, "file"), "");
  await expect(openHomeWorkspace({ ...home, folder: join(folder, "file") })).rejects.toMatchObject({ code: "storage" });
  expect(storeFolderOf(folder)).toBe(join(folder, "store"));
});

it("[HM6] importing the package, finding a home and reading switches load no database, no Yjs and no socket", () => {
  const entry = new URL("../dist/index.js", import.meta.url).href;
  // Node's hooks run on a thread of their own and say what is loaded.
  const hooks = `import { writeSync } from "node:fs";
    export async function load(url, context, next) { writeSync(1, url + "\\n"); return next(url, context); }`;
  const program = `import { register } from "node:module";
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});
    const home = await import(${JSON.stringify(entry)});
    const folder = home.findHomeFolder("/nowhere", { env: {}, platform: process.platform, userFolder: "/" });
    new home.SyncSwitches(folder).read({ sessionId: "s", cwd: "/" });
    new home.OpenMarks(folder).list("s");`;
  const loaded = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  const urls = loaded.split("\n");
  expect(urls).toContain(entry);
  expect(urls.filter((url) => /lmdb|yjs|lib0|noble|\/ws\/|packages\/client/.test(url))).toEqual([]);
});
