import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { parseArgs as parseStrictly, stripVTControlCharacters } from "node:util";
import { findHomeFolder, readErrorCode } from "@coppice/home";
import { defineCommand, type ParsedArgs, parseArgs, renderUsage } from "citty";
import { type CliCommand, type CliSurroundings, globalArgs, type HandedCommands } from "./command.ts";
import { commandNames, loadCommand } from "./commands.ts";
import { toFailure } from "./error-sentence.ts";
import type { OpenHome } from "./opened-home.ts";
import { createOutput } from "./output.ts";
import { handToSync } from "./through-sync/hand-to-sync.ts";
import { UsageError } from "./usage-error.ts";

/**
 * Runs `coppice` with its arguments (without `node` and the script) and settles with the exit code: 0 done, 1 failed,
 * 2 called wrongly. Never rejects; what went wrong is one sentence on stderr, with a stack trace only when
 * `COPPICE_DEBUG` is set (SPEC CP1, CP2). A command that the home's running `sync` may do is done there (CP71);
 * `opened` is given by that `sync`: the command acts on this home, whatever its arguments say of one.
 */
export async function runCli(
  args: readonly string[],
  surroundings: CliSurroundings,
  opened?: OpenHome,
): Promise<number> {
  try {
    return await dispatch(args, surroundings, opened);
  } catch (error) {
    const { sentence, exitCode } = toFailure(error);
    surroundings.stderr.write(`coppice: ${sentence}\n`);
    if (surroundings.env.COPPICE_DEBUG && error instanceof Error) surroundings.stderr.write(`${error.stack ?? ""}\n`);
    return exitCode;
  }
}

/** What `sync` is handed: commands of other processes. */
const handedCommands: HandedCommands = {
  async accepts(args) {
    const { commandName, rest } = splitCommandName(args);
    const command = commandName === undefined ? undefined : await loadCommand(commandName);
    return command?.throughSync !== undefined && parseCommandArgs(command, rest).offline !== true;
  },
  run: runCli,
};

async function dispatch(
  args: readonly string[],
  surroundings: CliSurroundings,
  opened: OpenHome | undefined,
): Promise<number> {
  const { commandName, rest } = splitCommandName(args);
  const wantsHelp = optionsOf(args).some((option) => option === "--help" || option === "-h");
  if (commandName === undefined) {
    if (optionsOf(args).includes("--version")) {
      surroundings.stdout.write(`${await readVersion()}\n`);
      return 0;
    }
    if (!wantsHelp && args.length > 0)
      throw new UsageError(`A command is missing; run \`coppice --help\` for the list.`);
    surroundings.stdout.write(`${await renderOverview()}\n`);
    return wantsHelp ? 0 : 2;
  }
  const command = await loadCommand(commandName);
  if (command === undefined) {
    throw new UsageError(`There is no command "${commandName}"; run \`coppice --help\` for the list.`);
  }
  if (wantsHelp) {
    surroundings.stdout.write(`${await renderHelp(command)}\n`);
    return 0;
  }
  const end = command.passesArgs ? rest.indexOf("--") : -1;
  const parsed = parseCommandArgs(command, end < 0 ? rest : rest.slice(0, end));
  const homeOption = typeof parsed.home === "string" ? parsed.home : undefined;
  const homeFolder = opened?.home.folder ?? findHomeFolder(homeOption, { ...surroundings, userFolder: homedir() });
  const offline = parsed.offline === true;
  let { stdin } = surroundings;
  // `--offline` is the command's own business: nobody else may wait for the relay on its behalf.
  if (opened === undefined && command.throughSync !== undefined && !offline) {
    const handed = await handToSync({
      homeFolder,
      args,
      surroundings,
      readsInput: command.throughSync.readsInput(parsed),
    });
    if (handed.exitCode !== undefined) return handed.exitCode;
    stdin = handed.stdin;
  }
  let exitCode = 0;
  await command.run(parsed, {
    output: createOutput(surroundings, parsed.json === true),
    homeFolder,
    offline,
    stdin,
    env: surroundings.env,
    listenForStop: surroundings.listenForStop,
    opened,
    passedArgs: end < 0 ? [] : rest.slice(end + 1),
    setExitCode: (code) => {
      exitCode = code;
    },
    handedCommands,
  });
  return exitCode;
}

/** The first word that is neither an option nor an option's value is the command; options may stand on both sides. */
function splitCommandName(args: readonly string[]): { commandName: string | undefined; rest: string[] } {
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    if (arg === "--") break;
    if (arg === "--home") index += 1;
    else if (!arg.startsWith("-"))
      return { commandName: arg, rest: [...args.slice(0, index), ...args.slice(index + 1)] };
  }
  return { commandName: undefined, rest: [...args] };
}

/** Everything before `--`; what follows it is text even when it looks like an option. */
function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/**
 * citty takes unknown options, a missing value and surplus words without a word, and its own runner answers wrong
 * usage with the whole help text and exit code 1; so Node's strict parser looks first.
 */
function parseCommandArgs(command: CliCommand, rest: string[]): ParsedArgs {
  const retry = `run \`coppice ${command.name} --help\``;
  const definitions = Object.entries(command.args);
  const options = Object.fromEntries(
    definitions
      .filter(([, definition]) => definition.type !== "positional")
      .map(([name, definition]) => [name, { type: definition.type === "boolean" ? "boolean" : "string" } as const]),
  );
  const positionals = definitions.filter(([, definition]) => definition.type === "positional");
  try {
    const words = parseStrictly({ args: rest, options, allowPositionals: true }).positionals;
    const surplus = words[positionals.length];
    if (surplus !== undefined) {
      throw new UsageError(
        `"${surplus}" is one word too many; put quotes around a text of several words, or ${retry}.`,
      );
    }
    return parseArgs(rest, command.args);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const message = stripVTControlCharacters(error instanceof Error ? error.message : String(error));
    const isUsage = readErrorCode(error)?.startsWith("ERR_PARSE_ARGS") || readErrorCode(error) === "EARG";
    if (!isUsage) throw error;
    // Node adds advice of its own after the first sentence.
    throw new UsageError(`${message.split(/\.\s|\n/)[0]?.replace(/\.$/, "")}; ${retry}.`);
  }
}

async function renderOverview(): Promise<string> {
  const commands = (await Promise.all(commandNames.map(loadCommand))).filter((command) => command !== undefined);
  const root = defineCommand({
    meta: { name: "coppice", description: "One agent session, many devices, nothing lost" },
    args: globalArgs,
    subCommands: Object.fromEntries(commands.map((command) => [command.name, command.definition])),
  });
  const usage = toPlainUsage(await renderUsage(root));
  return `${usage}\n\nSESSION and ENTRY are ids, or a start or end of an id that fits only one; a session also goes by its name.\n\`coppice --version\` prints the version.`;
}

async function renderHelp(command: CliCommand): Promise<string> {
  const usage = toPlainUsage(await renderUsage(command.definition, { meta: { name: "coppice" } }));
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", title, "", ...lines.map((line) => `  ${line}`)];
  return [usage, ...section("NOTES", command.notes), ...section("EXAMPLES", command.examples)].join("\n");
}

/** The version of the installed package. */
async function readVersion(): Promise<string> {
  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** citty paints whatever the terminal is, and fills its columns up with blanks. */
function toPlainUsage(usage: string): string {
  return stripVTControlCharacters(usage).replace(/ +$/gm, "").trimEnd();
}
