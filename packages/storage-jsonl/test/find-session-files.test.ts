import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findSessionFiles } from "../src/index.ts";
import { headerLine, makeTempFolder, messageLine } from "./helpers.ts";

it("[JL15] session files are found at any depth, sorted, with their headers; others are named with the reason", async () => {
  const folder = await makeTempFolder();
  await mkdir(join(folder, "b", "deep"), { recursive: true });
  await mkdir(join(folder, "folder.jsonl"));
  await writeFile(join(folder, "z.jsonl"), `${headerLine}\n${messageLine("a", null)}\ngarbage\n`);
  await writeFile(join(folder, "b", "deep", "a.jsonl"), `${headerLine.replace('"version":3,', "")}\n`);
  await writeFile(join(folder, "folder.jsonl", "c.jsonl"), headerLine);
  await writeFile(join(folder, "b", "log.jsonl"), '{"level":30}\n');
  await writeFile(join(folder, "empty.jsonl"), "");
  await writeFile(join(folder, "notes.txt"), `${headerLine}\n`);

  const { files, rejected } = await findSessionFiles(folder);
  expect(files.map((file) => [file.path.slice(folder.length), file.fileVersion, file.header.version])).toEqual([
    ["/b/deep/a.jsonl", 1, 3],
    ["/folder.jsonl/c.jsonl", 3, 3],
    ["/z.jsonl", 3, 3],
  ]);
  expect(files[0]?.header).toMatchObject({ id: "s1", cwd: "/work" });
  expect(rejected.map(({ path, error }) => [path.slice(folder.length), error.code])).toEqual([
    ["/b/log.jsonl", "invalid_session"],
    ["/empty.jsonl", "invalid_session"],
  ]);
});

it("[JL15] a link to a folder is not followed, a link to a file is", async () => {
  const folder = await makeTempFolder();
  const elsewhere = await makeTempFolder();
  await writeFile(join(elsewhere, "s.jsonl"), headerLine);
  await symlink(folder, join(folder, "loop"));
  await symlink(join(elsewhere, "s.jsonl"), join(folder, "link.jsonl"));
  await symlink(join(folder, "gone"), join(folder, "broken.jsonl"));
  const { files, rejected } = await findSessionFiles(folder);
  expect(files.map((file) => file.path)).toEqual([join(folder, "link.jsonl")]);
  expect(rejected.map(({ path, error }) => [path, error.code])).toEqual([[join(folder, "broken.jsonl"), "not_found"]]);
});

it("[JL15] a folder that is missing or a file is refused", async () => {
  const folder = await makeTempFolder();
  const file = join(folder, "s.jsonl");
  await writeFile(file, headerLine);
  await expect(findSessionFiles(join(folder, "missing"))).rejects.toMatchObject({ code: "not_found" });
  await expect(findSessionFiles(file)).rejects.toMatchObject({
    code: "invalid_session",
    message: `${file} is a file, not a folder; name a folder to search.`,
  });
});
