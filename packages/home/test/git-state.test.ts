import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { readGitState } from "../src/git-state.ts";
import { makeTempFolder } from "./temp-folder.ts";

/** A repository with nothing in it, and a way to act on it that heeds no settings of whoever runs the tests. */
async function makeRepository(): Promise<{ folder: string; git: (...args: string[]) => string }> {
  const folder = await makeTempFolder();
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, env, encoding: "utf8" }).trim();
  git("init", "--quiet");
  return { folder, git };
}

it("[HM5] remote and commit of a folder are read without the password in the remote", async () => {
  const { folder, git } = await makeRepository();
  expect(await readGitState(folder)).toEqual({});
  git("remote", "add", "fork", "https://fork.example/x.git");
  expect(await readGitState(folder)).toEqual({ remote: "https://fork.example/x.git" });
  git("remote", "add", "origin", "https://ada:secret@host.example/engine.git");
  writeFileSync(join(folder, "file"), "");
  git("add", "file");
  git("-c", "user.name=Ada", "-c", "user.email=ada@host.example", "commit", "--quiet", "--message", "one");
  expect(await readGitState(folder)).toEqual({
    remote: "https://host.example/engine.git",
    commit: git("rev-parse", "HEAD"),
  });
});

it("[HM5] no repository, no folder, no git and no answer in time say nothing", async () => {
  const folder = await makeTempFolder();
  expect(await readGitState(folder)).toEqual({});
  expect(await readGitState(join(folder, "missing"))).toEqual({});
  const { folder: repository, git } = await makeRepository();
  git("remote", "add", "origin", "https://host.example/engine.git");
  expect(await readGitState(repository, { timeoutMs: 0 })).toEqual({});
  vi.stubEnv("PATH", folder);
  expect(await readGitState(repository)).toEqual({});
  vi.unstubAllEnvs();
});
