import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { commandNames } from "../src/commands.ts";
import { runCli } from "../src/run-cli.ts";
import { makeDevice, makeTempFolder, requireFreshBuild, runCoppice } from "./support/run-coppice.ts";
import { sampleFile, shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

/** stdout is for results: a command that fails says one sentence on stderr and nothing else. */
function expectOneSentence(result: { stdout: string; stderr: string }): void {
  expect(result.stdout).toBe("");
  expect(result.stderr).toMatch(/^coppice: [^\n]+[.:;)][^\n]*\.\n$/);
  expect(result.stderr).not.toMatch(/\n\s+at /);
}

/** The same program without a process around it, where only arguments matter. */
async function runInProcess(
  args: readonly string[],
  home: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: "", stderr: "" };
  const code = await runCli(args, {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
    stdin: (async function* () {})(),
    env: { COPPICE_HOME: home },
    platform: process.platform,
    listenForStop: () => AbortSignal.abort(),
  });
  return { code, ...written };
}

describe("wrong usage", () => {
  it.each([
    [["grow"], 'There is no command "grow"; run `coppice --help` for the list.'],
    [["--offline"], "A command is missing; run `coppice --help` for the list."],
    [["log"], "Missing required positional argument: SESSION; run `coppice log --help`."],
    [["log", "x", "--row"], "Unknown option '--row'; run `coppice log --help`."],
    [["log", "x", "--home"], "Option '--home <value>' argument missing; run `coppice log --help`."],
    [
      ["append", "x", "two", "words", "--role", "user"],
      '"words" is one word too many; put quotes around a text of several words, or run `coppice append --help`.',
    ],
    [["append", "x", "text"], "Missing required argument: --role; run `coppice append --help`."],
    [["serve", "--port", "http"], '--port takes a number from 0 to 65535, not "http".'],
    [["serve", "--port", "65536"], '--port takes a number from 0 to 65535, not "65536".'],
    [
      ["serve", "--auth", "token"],
      "--auth token comes in a later version; until then the relay is for this machine only: use --auth open.",
    ],
    [
      ["serve", "--host", "0.0.0.0"],
      "With --auth open anybody who reaches 0.0.0.0 could write to the relay, so it listens on this machine only: use --host 127.0.0.1.",
    ],
    [
      ["init", "relay.example"],
      '"relay.example" is not a relay address; it looks like ws://127.0.0.1:4600 or wss://relay.example.',
    ],
    [
      ["init", "ws://127.0.0.1:4600/#coppice=abc"],
      "This pairing link is incomplete or damaged; run `coppice link` on the other device and copy the whole line.",
    ],
  ])("[CP1, CP2, CP3] %j exits 2", async (args, sentence) => {
    const result = await runInProcess(args, await makeTempFolder());
    expect(result).toEqual({ code: 2, stdout: "", stderr: `coppice: ${sentence}\n` });
  });

  it("[CP1] is the exit code of the process too", async () => {
    expect(await runCoppice(["log"])).toMatchObject({ code: 2, signal: null, stdout: "" });
  });

  it("[CP3] takes what follows -- for text and options on both sides of the command", async () => {
    const home = await makeTempFolder();
    expect((await runCoppice(["--home", home, "init"])).code).toBe(0);
    await runCoppice(["import", await writeSessionFile(), "--home", home]);
    const result = await runCoppice([
      "--json",
      "append",
      shortSessionId,
      "--home",
      home,
      "--role",
      "user",
      "--",
      "--help me",
    ]);
    expect(result.code).toBe(0);
    const log = await runCoppice(["log", shortSessionId, "--raw", "--home", home]);
    expect(log.stdout.trimEnd().split("\n").at(-1)).toContain('"text":"--help me"');
  });
});

describe("failures", () => {
  it("[CP1, CP2] a home without a workspace", async () => {
    const home = await makeTempFolder();
    const result = await runCoppice(["sessions", "--home", home]);
    expectOneSentence(result);
    expect(result.code).toBe(1);
    expect(result.stderr).toBe(
      `coppice: There is no workspace in ${home} yet; run \`coppice init\` with the relay's address, or with the link that \`coppice link\` prints on another device.\n`,
    );
  });

  it("[CP1, CP2] a wrong path, an empty file, something else than a session, a folder without sessions", async () => {
    const device = await makeDevice("laptop");
    const folder = await makeTempFolder();
    const empty = join(folder, "empty.jsonl");
    await writeFile(empty, "");
    const other = join(folder, "other.jsonl");
    await writeFile(other, "just words\n");
    const bare = join(folder, "bare");
    await mkdir(bare);
    for (const [path, words] of [
      [join(folder, "missing.jsonl"), "missing.jsonl"],
      [empty, "is empty"],
      [other, "is no session file"],
      [bare, "There is no session in"],
    ] as const) {
      const result = await device.run(["import", path]);
      expectOneSentence(result);
      expect(result.code).toBe(1);
      expect(result.stderr).toContain(words);
    }
  });

  it("[CP1, CP2] an unknown session and a text that fits several", async () => {
    const device = await makeDevice("laptop");
    const folder = await makeTempFolder();
    await writeSessionFile({ folder, name: "a.jsonl", sessionId: "0194c0de-0000-7000-8000-aaaaaaaaaaaa" });
    await writeSessionFile({ folder, name: "b.jsonl", sessionId: "0194c0de-0000-7000-8000-bbbbbbbbbbbb" });
    expect((await device.run(["import", folder])).code).toBe(0);
    const unknown = await device.run(["tree", "zzz"]);
    expectOneSentence(unknown);
    expect(unknown).toMatchObject({
      code: 1,
      stderr: 'coppice: No session is called or starts or ends with "zzz"; `coppice sessions` lists them.\n',
    });
    const ambiguous = await device.run(["tree", "0194"]);
    expectOneSentence(ambiguous);
    expect(ambiguous.code).toBe(1);
    expect(ambiguous.stderr).toContain('"0194" fits 2 of the sessions: ');
    expect(ambiguous.stderr).toContain("0194c0de-0000-7000-8000-aaaaaaaaaaaa (Woods)");
    const entry = await device.run(["move", "aaaa", "zzz"]);
    expectOneSentence(entry);
    expect(entry.code).toBe(1);
  });

  it("[CP1, CP2, CP45] a port in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
    });
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const result = await runCoppice(["serve", "--port", String(port), "--data", await makeTempFolder()]);
    expectOneSentence(result);
    expect(result).toMatchObject({
      code: 1,
      stderr: `coppice: Port ${port} on 127.0.0.1 is in use; end the program that holds it, or choose another with --port (0 takes a free one).\n`,
    });
  });

  it("[CP1, CP2, CP11] a home that this user may not write to", async ({ skip }) => {
    // As root nothing is read-only, so the command runs as nobody; where that user cannot even start it, say so.
    const isRoot = process.getuid?.() === 0;
    const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
    if (isRoot && (await runCoppice(["--help"], user).catch(() => ({ code: 1 }))).code !== 0) {
      skip("root, and the user nobody cannot read this checkout");
    }
    const folder = await makeTempFolder(0o555);
    for (const args of [["init"], ["serve", "--port", "0"]]) {
      const result = await runCoppice([...args, "--home", join(folder, "home")], { ...user, cwd: "/" });
      expectOneSentence(result);
      expect(result.code).toBe(1);
    }
    const device = await makeDevice("laptop");
    await chmod(join(device.home, ".."), 0o755);
    await chmod(device.home, 0o555);
    await chmod(join(device.home, "workspace-link"), 0o444);
    await chmod(join(device.home, "device.json"), 0o444);
    const result = await device.run(["sessions"], { ...user, cwd: "/" });
    await chmod(device.home, 0o755);
    expectOneSentence(result);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("this user may not do that; choose another folder with --home or COPPICE_HOME.");
  });

  it("[CP2] shows where it happened only when asked to", async () => {
    const result = await runCoppice(["sessions", "--home", await makeTempFolder()], { env: { COPPICE_DEBUG: "1" } });
    expect(result.stderr).toMatch(/\n\s+at /);
  });

  it("[CP2] a damaged home", async () => {
    const device = await makeDevice("laptop");
    await writeFile(join(device.home, "workspace-link"), "coppice:/#coppice=abc\n");
    const result = await device.run(["sessions"]);
    expectOneSentence(result);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("workspace-link is damaged");
    expect(result.stderr).not.toContain("abc");
  });

  it.each([
    ["device.json", '{ "v": 2, "device": {} }'],
    ["workspace-link", "coppice:/#coppice=4.abc"],
  ])("[CP2, CP11, WS50] a home whose %s a newer version has written", async (name, text) => {
    const device = await makeDevice("laptop");
    await writeFile(join(device.home, name), text);
    const result = await device.run(["sessions"]);
    expectOneSentence(result);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(new RegExp(`${name} was written by a newer version of Coppice; upgrade to use it.`));
    expect(await readFile(join(device.home, name), "utf8")).toBe(text);
  });
});

describe("help and output", () => {
  it("[CP4] lists every command, and each shows an example", async () => {
    const overview = await runCoppice(["--help"]);
    expect(overview).toMatchObject({ code: 0, stderr: "" });
    for (const name of commandNames) {
      expect(overview.stdout).toMatch(new RegExp(`^ +${name} {2,}\\S`, "m"));
      const help = await runInProcess([name, "--help"], "/nowhere");
      expect(help).toMatchObject({ code: 0, stderr: "" });
      expect(help.stdout).toMatch(new RegExp(`EXAMPLES\\n\\n {2}coppice ${name}`));
      expect(help.stdout).toContain("--home=<DIR>");
    }
  });

  it("[CP80] prints the version of the package", async () => {
    const manifest = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
    expect(await runCoppice(["--version"])).toEqual({
      code: 0,
      signal: null,
      stdout: `${manifest.version}\n`,
      stderr: "",
    });
  });

  it("[CP87] says what the marks in the output mean", async () => {
    for (const name of ["tree", "log", "watch"]) {
      const { stdout } = await runInProcess([name, "--help"], "/nowhere");
      for (const words of ["u user, a assistant, t tool result", "≡ a summary", "→ a move"])
        expect(stdout).toContain(words);
    }
    expect((await runInProcess(["tree", "--help"], "/nowhere")).stdout).toContain("◀ NAME where a device stands");
  });

  it("[CP4] shows the list and exits 2 when called with nothing", async () => {
    expect(await runCoppice([])).toMatchObject({ code: 2, stderr: "", stdout: expect.stringContaining("COMMANDS") });
  });

  it("[CP5] ends quietly when the reader of its output goes away", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", sampleFile]);
    const command = fileURLToPath(new URL("../bin/coppice.mjs", import.meta.url));
    const child = spawn(process.execPath, [command, "log", "Fix the flaky login test", "--raw", "--home", device.home]);
    // Closed before the first byte is read: the very first write meets a broken pipe.
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, "close");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("[CP6] prints plain text into a pipe", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", sampleFile]);
    const tree = await device.run(["tree", "Fix the flaky login test"]);
    expect(tree.stdout).toContain("◀ laptop");
    expect(tree.stdout).not.toContain("\u001b");
  });
});

describe("the home", () => {
  it("[CP11] is a folder for this user alone, and so are the files with the identity and the key", async () => {
    const device = await makeDevice("laptop");
    const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
    expect(await modeOf(device.home)).toBe("700");
    expect(await modeOf(join(device.home, "device.json"))).toBe("600");
    expect(await modeOf(join(device.home, "workspace-link"))).toBe("600");
    await device.run(["sessions"]);
    expect(await modeOf(join(device.home, "store"))).toBe("700");
  });

  it("[CP88] is told what to type next, whether it is new, joined or without a relay", async () => {
    const folder = await makeTempFolder();
    const init = async (name: string, ...args: string[]): Promise<string> =>
      (await runCoppice(["init", ...args, "--home", join(folder, name)])).stdout
        .trimEnd()
        .split("\n")
        .slice(1)
        .join("\n");
    expect(await init("alone")).toBe(
      "next: `coppice import FILE` brings a session in; `coppice init ws://ADDRESS` adds a relay later",
    );
    expect(await init("first", "ws://127.0.0.1:9")).toBe(
      "next: `coppice import FILE` brings a session in, `coppice link` prints the link for another device",
    );
    const link = await runCoppice(["link", "--home", join(folder, "first")]);
    expect(await init("second", link.stdout.trim())).toBe(
      "next: `coppice sync --once` fetches the sessions, `coppice sync` stays and keeps in step",
    );
  });

  it("[CP90] is made with the folders above it, all for this user alone, by several commands at once", async () => {
    const top = await makeTempFolder();
    const home = join(top, "a", "b", "home");
    const relay = (name: string) => runCoppice(["init", "--home", join(home, name)]);
    expect((await Promise.all([relay("one"), relay("two"), relay("three")])).map(({ code }) => code)).toEqual([
      0, 0, 0,
    ]);
    for (const path of ["a", "a/b", "a/b/home", "a/b/home/one"])
      expect((await stat(join(top, path))).mode & 0o777).toBe(0o700);
  });

  it("[CP2, CP90] where no folder can be made is said at once", async ({ skip }) => {
    if (process.platform !== "linux")
      skip("only Linux has a /proc whose folders say that what is made in them does not exist");
    const result = await runCoppice(["init", "--home", "/proc/coppice/home"]);
    expectOneSentence(result);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("choose another folder with --home") });
  });

  it("[CP12, CP56] keeps its device and its workspace when init is run again", async () => {
    const device = await makeDevice("laptop", "ws://127.0.0.1:9");
    const link = await readFile(join(device.home, "workspace-link"), "utf8");
    expect(await device.runJson(["init", "ws://127.0.0.1:9"])).toEqual({
      coppice: "init",
      version: 1,
      home: device.home,
      device: { id: expect.any(String), name: "laptop" },
      relay: "ws://127.0.0.1:9",
    });
    expect((await device.run(["init", link.trim()])).code).toBe(0);
    expect((await device.run(["init"])).code).toBe(0);
    expect(await readFile(join(device.home, "workspace-link"), "utf8")).toBe(link);
  });

  it("[CP12] refuses another relay, another workspace and another name", async () => {
    const device = await makeDevice("laptop", "ws://127.0.0.1:9");
    const other = await makeDevice("desktop", "ws://127.0.0.1:9");
    const { link } = await other.runJson(["link"]);
    expect(await device.run(["init", "--name", "phone"])).toMatchObject({
      code: 1,
      stderr: `coppice: ${device.home} is the home of the device laptop already; leave --name and --person out, or choose another folder with --home.\n`,
    });
    for (const more of [[], ["--move"]])
      expect(await device.run(["init", link, ...more])).toMatchObject({
        code: 1,
        stderr: `coppice: ${device.home} belongs to a workspace at ws://127.0.0.1:9 already; choose another folder with --home.\n`,
      });
    expect(await device.run(["init", "ws://127.0.0.1:10"])).toMatchObject({
      code: 1,
      stderr: `coppice: ${device.home} belongs to a workspace at ws://127.0.0.1:9 already; to go over to another relay say --move, for another workspace choose another folder with --home.\n`,
    });
  });

  it("[CP12] goes over to another relay when told to, and by its workspace's own link", async () => {
    const device = await makeDevice("laptop", "ws://127.0.0.1:9");
    const { link } = await device.runJson(["link"]);
    expect(await device.runJson(["init", "ws://127.0.0.1:10", "--move"])).toMatchObject({ relay: "ws://127.0.0.1:10" });
    const moved = await device.runJson(["link"]);
    expect(moved.link).toBe(link.replace(":9/", ":10/"));
    expect(await device.runJson(["init", link])).toMatchObject({ relay: "ws://127.0.0.1:9" });
    expect((await device.runJson(["link"])).link).toBe(link);
  });

  it("[CP12, CP13] a workspace without a relay gets one later and keeps its key", async () => {
    const device = await makeDevice("laptop");
    expect(await device.run(["link"])).toMatchObject({ code: 1, stderr: expect.stringContaining("has no relay yet") });
    const before = await readFile(join(device.home, "workspace-link"), "utf8");
    await device.runJson(["init", "ws://127.0.0.1:9"]);
    const { link } = await device.runJson(["link"]);
    expect(link.startsWith("ws://127.0.0.1:9/#")).toBe(true);
    expect(link.split("#")[1]).toBe(before.trim().split("#")[1]);
  });
});
