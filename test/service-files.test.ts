import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOMParser, onWarningStopParsing } from "@xmldom/xmldom";
import { describe, expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const services = join(root, "docs", "service");
const commandPath = "packed/node_modules/.bin/coppice";

/** Runs the real command with the arguments of a unit and `--help` behind them; an option it does not have is an error. */
function askForHelp(args: readonly string[]): string[] {
  const command = join(root, "packages", "cli", "bin", "coppice.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args, "--help"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return [...stdout.matchAll(/^ +(?:-\w, )?--([\w-]+)/gm)].map(([, option]) => option ?? "");
}

function expectRealOptions(args: readonly string[]): void {
  const known = askForHelp(args.slice(0, 1));
  const used = args.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2));
  expect(known).toEqual(expect.arrayContaining(used));
}

describe("the unit files for systemd", () => {
  it.each([
    ["coppice-sync.service", ["sync"]],
    [
      "coppice-relay.service",
      ["serve", "--host", "127.0.0.1", "--port", "4600", "--data", "%h/coppice-relay", "--log", "warn"],
    ],
  ])("[CP100] %s starts the command where the packed folder has it, with options that it has", async (file, wanted) => {
    const text = await readFile(join(services, file), "utf8");
    const [path, ...args] = /^ExecStart=(.+)$/m.exec(text)?.[1]?.split(" ") ?? [];
    expect(path).toBe(`%h/${commandPath}`);
    expect(args).toEqual(wanted);
    expectRealOptions(args);
  });

  it("[CP100] are such as systemd takes without a word", async ({ skip }) => {
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0) skip("systemd-analyze is not on this machine");
    const home = await mkdtemp(join(tmpdir(), "coppice-test-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    await mkdir(dirname(join(home, commandPath)), { recursive: true });
    await writeFile(join(home, commandPath), "#!/bin/sh\n");
    await chmod(join(home, commandPath), 0o755);
    await mkdir(join(home, "run"), { mode: 0o700 });
    const verify = (...paths: string[]): string => {
      const { stdout, stderr } = spawnSync("systemd-analyze", ["--user", "verify", ...paths], {
        encoding: "utf8",
        env: { ...process.env, HOME: home, XDG_RUNTIME_DIR: join(home, "run") },
      });
      // What it says of the machine's own units is not about ours.
      return `${stdout}${stderr}`
        .split("\n")
        .filter((line) => line.includes("coppice"))
        .join("\n");
    };
    const wrong = join(home, "coppice-wrong.service");
    await writeFile(wrong, `[Service]\nExecStart=%h/${commandPath} sync\nRestartSecs=10\n`);
    if (!verify(wrong).includes("RestartSecs")) skip("systemd-analyze says nothing of a wrong unit here");
    expect(verify(join(services, "coppice-sync.service"), join(services, "coppice-relay.service"))).toBe("");
  });
});

describe("the property list for launchd", () => {
  it("[CP100] is well-formed, starts the command where the packed folder has it, and again when it failed", async () => {
    const text = await readFile(join(services, "coppice-sync.plist"), "utf8");
    const document = new DOMParser({ onError: onWarningStopParsing }).parseFromString(text, "text/xml");
    const [dict] = document.getElementsByTagName("dict");
    const elements = [...(dict?.childNodes ?? [])].filter(({ nodeType }) => nodeType === 1);
    const readValue = (key: string) => elements[elements.findIndex(({ textContent }) => textContent === key) + 1];
    for (const [index, { nodeName }] of elements.entries()) expect(nodeName === "key").toBe(index % 2 === 0);
    const words = [...(readValue("ProgramArguments")?.childNodes ?? [])].flatMap(({ nodeName, textContent }) =>
      nodeName === "string" ? [textContent ?? ""] : [],
    );
    expect(words).toEqual([`/Users/USER/${commandPath}`, "sync"]);
    expectRealOptions(words.slice(1));
    expect(readValue("RunAtLoad")?.nodeName).toBe("true");
    expect(readValue("Label")?.textContent).toBe("coppice-sync");
    expect(readValue("KeepAlive")?.textContent?.trim()).toBe("SuccessfulExit");
  });
});

describe("the guides", () => {
  it.each(["docs/second-machine.md", "docs/service.md", "README.md"])(
    "[CP100] %s types no command and no option that there is not",
    async (path) => {
      const text = await readFile(join(root, path), "utf8");
      const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block?.split("\n") ?? []);
      const lines = blocks.filter((line) => /^(?:npx )?coppice /.test(line));
      if (path !== "docs/service.md") expect(lines.length).toBeGreaterThan(3);
      const wordsOf = (line: string): string[] =>
        line
          .replace(/#.*$/, "")
          .replace(/'[^']*'/g, "x")
          .trim()
          .split(/\s+/);
      for (const line of lines) {
        const words = wordsOf(line.replace(/^npx /, "")).slice(1);
        const [name] = words;
        if (name?.startsWith("--")) continue;
        expectRealOptions(words.filter((word) => !word.startsWith("-") || word.startsWith("--")));
      }
    },
  );
});
