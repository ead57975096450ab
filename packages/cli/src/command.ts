import { type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from "citty";
import type { OpenHome } from "./opened-home.ts";
import type { Output, OutputStreams } from "./output.ts";

/** Options that every command takes. */
export const globalArgs: ArgsDef = {
  home: {
    type: "string",
    description: "Folder with this device's data (or COPPICE_HOME; default: the platform's data folder)",
    valueHint: "DIR",
  },
  offline: { type: "boolean", description: "Act on this device only; do not connect to the relay" },
  json: { type: "boolean", description: "Print JSON of a documented, versioned shape" },
};

/** The process as the command sees it. */
export interface CliSurroundings extends OutputStreams, Pick<CommandContext, "stdin" | "listenForStop"> {
  readonly platform: NodeJS.Platform;
}

/** How a running `sync` does commands for other processes. */
export interface HandedCommands {
  /** Whether a command line is one of those that `sync` does. */
  accepts(args: readonly string[]): Promise<boolean>;
  /** Does it over an open home; settles with the exit code and never rejects. */
  run(args: readonly string[], surroundings: CliSurroundings, opened: OpenHome): Promise<number>;
}

/** What a command is given besides its arguments. */
export interface CommandContext {
  readonly output: Output;
  /** Absolute path of the home in force; may not exist. */
  readonly homeFolder: string;
  readonly offline: boolean;
  /** Standard input; `isTTY` when somebody sits there who can be asked. */
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  /** The environment variables of whoever called. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * From the call on, the first Ctrl-C or SIGTERM aborts the signal instead of ending the process. For commands that
   * stay up; the others may be ended at any moment, because everything they say they saved is on the disk.
   */
  readonly listenForStop: () => AbortSignal;
  /** The home, when it is open already: a running `sync` does the command. */
  readonly opened?: OpenHome | undefined;
  /** What follows `--`, of a command with `passesArgs`. */
  readonly passedArgs: readonly string[];
  /** Ends the process with this code, in place of 0. */
  readonly setExitCode: (code: number) => void;
  /** For `sync`: doing the commands of others. */
  readonly handedCommands: HandedCommands;
}

/** How a command is written: what `--help` shows and what it does. */
export interface CliCommandDefinition<Args extends ArgsDef> {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  readonly args: Args;
  /** Shown by `--help`, complete enough to be typed. */
  readonly examples: readonly string[];
  /** Lines that `--help` shows besides: what letters and marks in the output mean, what cannot be undone. */
  readonly notes?: readonly string[];
  /**
   * A running `sync` of the home does the command when there is one (SPEC CP71). For short writes that reach the home
   * through `withHome` alone, and leave its sessions open. Absent: the command always acts by itself.
   */
  readonly throughSync?: ThroughSync<ParsedArgs<Args>>;
  /** What follows `--` is for another program. */
  readonly passesArgs?: boolean;
  /** Settles when the command is done; rejects when it failed. */
  readonly run: (args: ParsedArgs<Args>, context: CommandContext) => Promise<void>;
}

/** What handing a command over needs. */
interface ThroughSync<Args> {
  /** Whether it reads standard input, as text; it is then read before the command is handed over. */
  readonly readsInput: (args: Args) => boolean;
}

/** A command ready to be run: its citty definition and its examples. */
export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
  readonly args: ArgsDef;
  readonly definition: CommandDef;
  readonly throughSync: ThroughSync<ParsedArgs> | undefined;
  readonly passesArgs: boolean;
  readonly run: (args: ParsedArgs, context: CommandContext) => Promise<void>;
}

/** Makes a command from its definition, adding the options that all commands share. */
export function defineCliCommand<const Args extends ArgsDef>(definition: CliCommandDefinition<Args>): CliCommand {
  const { name, summary, examples, notes = [], throughSync, passesArgs = false, run } = definition;
  const args: ArgsDef = { ...definition.args, ...globalArgs };
  return {
    name,
    summary,
    examples,
    notes,
    args,
    definition: defineCommand({ meta: { name, description: summary }, args }),
    // The arguments were parsed by `args`, which includes the definition's own.
    throughSync: throughSync && { readsInput: (parsed) => throughSync.readsInput(parsed as ParsedArgs<Args>) },
    passesArgs,
    run: (parsed, context) => run(parsed as ParsedArgs<Args>, context),
  };
}
