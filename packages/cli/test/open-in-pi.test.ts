import { chmod, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OpenMarks, SyncSwitches } from "@coppice/home";
import { beforeAll, expect, it } from "vitest";
import { makeDevice, makeTempFolder, requireFreshBuild, runCoppice, type TestDevice } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

interface Desk {
  readonly device: TestDevice;
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly sessions: string;
}

/** A device with the short session, a folder to work in, and a pi that says what it was given and ends with 7. */
async function makeDesk(): Promise<Desk> {
  const device = await makeDevice("desktop");
  await device.run(["import", await writeSessionFile()]);
  const cwd = await realpath(await makeTempFolder());
  const agent = await realpath(await makeTempFolder());
  const pi = join(agent, "bin", "pi");
  await mkdir(dirname(pi));
  await writeFile(pi, '#!/bin/sh\necho "in $(pwd)"\nfor arg; do echo "arg $arg"; done\nexit 7\n');
  await chmod(pi, 0o755);
  const env = {
    PI_CODING_AGENT_DIR: agent,
    PI_CODING_AGENT_SESSION_DIR: "",
    PATH: `${dirname(pi)}:${process.env.PATH ?? ""}`,
  };
  return { device, cwd, env, sessions: join(agent, "sessions") };
}

it("[CP101] open makes the file where pi looks for it, for this folder, and pi goes on there with its own arguments", async () => {
  const { device, cwd, env, sessions } = await makeDesk();
  const { code, stdout } = await device.run(["open", "Woods", "--in", "pi"], { cwd, env });
  const name = `2026-12-01T09-59-59-000Z_${shortSessionId}.jsonl`;
  const file = join(sessions, `--${cwd.slice(1).replaceAll("/", "-")}--`, name);
  expect(stdout).toBe(`${file}\nin ${cwd}\narg --session\narg ${file}\n`);
  expect(code).toBe(7);
  const [header, ...lines] = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(JSON.parse(header ?? "")).toMatchObject({ id: shortSessionId, cwd });
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(["e0000001", "e0000002", "e0000003"]);
  expect(new SyncSwitches(device.home).readSession(shortSessionId)).toBe(true);
  const { sessions: listed } = await device.runJson(["sessions"]);
  expect(listed[0].cwd).toBe(cwd);
});

it("[CP102] a file pi has already is used, in its folder, and what pi wrote in it meanwhile comes in once", async () => {
  const { device, cwd, env } = await makeDesk();
  const open = ["open", "Woods", "--in", "pi", "--no-start"];
  const file = (await device.run(open, { cwd, env })).stdout.trim();
  const line = {
    type: "custom",
    id: "p1",
    parentId: "e0000003",
    timestamp: "2026-12-01T10:00:02.000Z",
    customType: "x",
  };
  await writeFile(file, `${JSON.stringify(line)}\n`, { flag: "a" });
  const before = await readFile(file, "utf8");
  const elsewhere = await makeTempFolder();
  const again = await device.runJson(open, { cwd: elsewhere, env });
  expect(again).toMatchObject({ coppice: "open", version: 1, file, cwd, leafId: "p1", added: 0 });
  expect(await readFile(file, "utf8")).toBe(before);
  // Moved back: a marker, which is in the workspace once.
  await device.run(["move", "Woods", "e0000001"]);
  const back = await device.runJson(open, { cwd, env });
  expect(back.added).toBeGreaterThan(0);
  const grown = await readFile(file, "utf8");
  expect(grown.startsWith(before)).toBe(true);
  const marker = JSON.parse(grown.trimEnd().split("\n").at(-1) ?? "");
  expect(marker).toMatchObject({ customType: "coppice/leaf", parentId: "e0000001" });
  expect(await device.runJson(open, { cwd, env })).toMatchObject({ leafId: marker.id, added: 0 });
  const { entries } = await device.runJson(["log", "Woods"]);
  expect(entries.filter(({ entry }: { entry: { id: string } }) => entry.id === marker.id)).toHaveLength(1);
});

it("[CP103] without pi one sentence names the file, and a pi that has the session open already is told of", async () => {
  const { device, cwd, env } = await makeDesk();
  new OpenMarks(device.home).add(shortSessionId, "/sessions/x.jsonl");
  const { code, stdout, stderr } = await device.run(["open", "Woods", "--in", "pi"], {
    cwd,
    env: { ...env, PATH: cwd },
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`pi has this session open already (process ${process.pid})`);
  expect(stderr).toContain(`pi was not found; the session is in ${stdout.trim()}`);
  expect((await device.run(["open", "Woods", "--in", "vi"], { cwd, env })).code).toBe(2);
});

it("[CP104] what follows -- is pi's, and a folder that the settings name has the files in it directly", async () => {
  const { device, cwd, env } = await makeDesk();
  await mkdir(join(cwd, ".pi"));
  const open = ["open", "Woods", "--in", "pi"];
  await writeFile(join(cwd, ".pi", "settings.json"), '{"sessionDir":"kept"}');
  const { stdout } = await runCoppice(["--home", device.home, ...open, "--", "-p", "go on"], { cwd, env });
  const file = join(cwd, "kept", `2026-12-01T09-59-59-000Z_${shortSessionId}.jsonl`);
  expect(stdout.split("\n")).toEqual([file, `in ${cwd}`, "arg --session", `arg ${file}`, "arg -p", "arg go on", ""]);
});
