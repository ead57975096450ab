import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { OpenMarks } from "../src/open-marks.ts";
import { makeTempFolder } from "./temp-folder.ts";

const sessionId = "0198f5a2-0000-7000-8000-000000000001";
const now = () => Date.UTC(2026, 0, 2, 3, 4, 5);

it("[HM4] a mark counts while its process runs, and is removed once that is gone", async () => {
  const marks = new OpenMarks(await makeTempFolder(), { now });
  expect(marks.list(sessionId)).toEqual([]);
  const other = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
  const pid = other.pid ?? 0;
  const own = marks.add(sessionId, "/sessions/a.jsonl");
  expect(own).toEqual({
    pid: process.pid,
    sessionId,
    file: "/sessions/a.jsonl",
    startedAt: "2026-01-02T03:04:05.000Z",
  });
  marks.add(sessionId, "/sessions/a.jsonl", pid);
  marks.add("another session", "/sessions/b.jsonl");
  expect(marks.list(sessionId).map((mark) => mark.pid)).toEqual(expect.arrayContaining([process.pid, pid]));
  other.kill("SIGKILL");
  await once(other, "close");
  expect(marks.list(sessionId)).toEqual([own]);
  marks.remove(sessionId);
  marks.remove(sessionId);
  expect(marks.list(sessionId)).toEqual([]);
});

it("[HM4] a mark has a form that stays; what is none, or of a newer version, is passed over and stays", async () => {
  const home = await makeTempFolder();
  const marks = new OpenMarks(home, { now, isRunning: () => true });
  marks.add(sessionId, "/sessions/a.jsonl", 4711);
  const folder = join(home, "pi", "open", readdirSync(join(home, "pi", "open"))[0] ?? "");
  const path = join(folder, "4711.json");
  expect(readFileSync(path, "utf8")).toBe(
    `{"version":1,"pid":4711,"sessionId":"${sessionId}","file":"/sessions/a.jsonl","startedAt":"2026-01-02T03:04:05.000Z"}\n`,
  );
  writeFileSync(path, `{"version":2,"pid":4711,"sessionId":"${sessionId}"}`);
  writeFileSync(join(folder, "12.json"), "not JSON");
  writeFileSync(join(folder, "notes.txt"), "nobody's");
  expect(marks.list(sessionId)).toEqual([]);
  expect(existsSync(path) && readdirSync(folder)).toEqual(["12.json", "4711.json", "notes.txt"]);
});
