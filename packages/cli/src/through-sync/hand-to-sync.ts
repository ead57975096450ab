import type { CliSurroundings } from "../command.ts";
import { readStandardInput } from "../read-standard-input.ts";
import { askRunningSync } from "./ask-running-sync.ts";
import { readPackageVersion } from "./package-version.ts";

/** A command that the home's running `sync` may do. */
export interface HandedOver {
  readonly homeFolder: string;
  /** As typed, without `node` and the script. */
  readonly args: readonly string[];
  readonly surroundings: CliSurroundings;
  readonly readsInput: boolean;
}

/** What became of it. */
export type HandOverOutcome =
  | { readonly exitCode: number }
  /** Nobody did it, and nothing was begun. Standard input may have been read: this is all of it. */
  | { readonly exitCode?: undefined; readonly stdin: AsyncIterable<Uint8Array> };

/** Has the home's running `sync` do a command, if there is one. Rejects `closed` when that ended in the middle. */
export async function handToSync({ homeFolder, args, surroundings, readsInput }: HandedOver): Promise<HandOverOutcome> {
  const { env, stdout, stderr } = surroundings;
  let { stdin } = surroundings;
  const readInput = async (): Promise<string> => {
    const input = await readStandardInput(surroundings.stdin);
    stdin = toChunks(input);
    return input;
  };
  const exitCode = await askRunningSync({
    homeFolder,
    version: readPackageVersion(),
    args,
    env,
    stdout,
    stderr,
    readInput: readsInput ? readInput : undefined,
  });
  return exitCode === undefined ? { stdin } : { exitCode };
}

/** A text as standard input gives it. */
export async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") yield new TextEncoder().encode(text);
}
