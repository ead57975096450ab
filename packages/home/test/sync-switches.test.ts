import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SyncSwitches } from "../src/sync-switches.ts";
import { makeTempFolder } from "./temp-folder.ts";

const sessionId = "0198f5a2-0000-7000-8000-000000000001";
const sessionFile = "fa3a8845fa9e9fdebeb49903b1f2859508048c0dc83ed5884ec01d5a11ed1d7c.json";

it("[HM1] nothing is shared unless the session or a folder above says so, and the nearest word counts", async () => {
  const switches = new SyncSwitches(await makeTempFolder());
  const cwd = "/home/mira/code/engine/src";
  const read = () => switches.read({ sessionId, cwd });
  expect(read()).toEqual({ sync: false, from: "default" });
  switches.setProject("/home/mira/code/other", true);
  expect(read()).toEqual({ sync: false, from: "default" });
  switches.setProject("/home/mira", true);
  expect(read()).toEqual({ sync: true, from: "project", project: "/home/mira" });
  switches.setProject("/home/mira/code/engine/", false);
  expect(read()).toEqual({ sync: false, from: "project", project: "/home/mira/code/engine" });
  switches.setSession(sessionId, true);
  expect(read()).toEqual({ sync: true, from: "session" });
  switches.setSession(sessionId, false);
  switches.setProject("/home/mira/code/engine", true);
  expect(read()).toEqual({ sync: false, from: "session" });
});

it("[HM2] a switch is one private file of a form that stays, and nothing else is left beside it", async () => {
  const home = await makeTempFolder();
  const switches = new SyncSwitches(home);
  switches.setSession(sessionId, false);
  switches.setSession(sessionId, true);
  switches.setProject("/srv/engine", true);
  expect(readdirSync(join(home, "pi", "sessions"))).toEqual([sessionFile]);
  const path = join(home, "pi", "sessions", sessionFile);
  expect(readFileSync(path, "utf8")).toBe(`{"version":1,"sessionId":"${sessionId}","sync":true}\n`);
  const [project = ""] = readdirSync(join(home, "pi", "projects"));
  expect(project).toMatch(/^[0-9a-f]{64}\.json$/);
  expect(readFileSync(join(home, "pi", "projects", project), "utf8")).toBe(
    '{"version":1,"folder":"/srv/engine","sync":true}\n',
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "pi")).mode & 0o777).toBe(0o700);
});

it("[HM3] a newer version's switch is neither guessed at nor overwritten, a damaged one shares nothing", async () => {
  const home = await makeTempFolder();
  const switches = new SyncSwitches(home);
  switches.setSession(sessionId, true);
  const path = join(home, "pi", "sessions", sessionFile);
  const newer = `{"version":2,"sessionId":"${sessionId}","sync":"only branches"}\n`;
  writeFileSync(path, newer);
  expect(() => switches.read({ sessionId, cwd: "/" })).toThrow(expect.objectContaining({ code: "version_mismatch" }));
  expect(() => switches.setSession(sessionId, true)).toThrow(expect.objectContaining({ code: "version_mismatch" }));
  expect(readFileSync(path, "utf8")).toBe(newer);

  for (const damaged of ["", "{", "[]", '{"version":1,"sync":true}', `{"version":1,"sessionId":"${sessionId}"}`]) {
    writeFileSync(path, damaged);
    expect(() => switches.read({ sessionId, cwd: "/" })).toThrow(expect.objectContaining({ code: "storage" }));
  }
  switches.setSession(sessionId, true);
  expect(switches.readSession(sessionId)).toBe(true);
});
