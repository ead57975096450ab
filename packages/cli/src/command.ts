import { type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from "citty";
import type { Output } from "./output.ts";

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
  /** Settles when the command is done; rejects when it failed. */
  readonly run: (args: ParsedArgs<Args>, context: CommandContext) => Promise<void>;
}

/** A command ready to be run: its citty definition and its examples. */
export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
  readonly args: ArgsDef;
  readonly definition: CommandDef;
  readonly run: (args: ParsedArgs, context: CommandContext) => Promise<void>;
}

/** Makes a command from its definition, adding the options that all commands share. */
export function defineCliCommand<const Args extends ArgsDef>(definition: CliCommandDefinition<Args>): CliCommand {
  const { name, summary, examples, notes = [], run } = definition;
  const args: ArgsDef = { ...definition.args, ...globalArgs };
  return {
    name,
    summary,
    examples,
    notes,
    args,
    definition: defineCommand({ meta: { name, description: summary }, args }),
    // The arguments were parsed by `args`, which includes the definition's own.
    run: (parsed, context) => run(parsed as ParsedArgs<Args>, context),
  };
}
