import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What git says of a folder. */
export interface GitState {
  /** Address of the remote, without user name and password; absent when there is none. */
  readonly remote?: string;
  /** Full id of the commit that is checked out; absent before the first one. */
  readonly commit?: string;
}

/** How long git is waited for. */
export interface ReadGitStateOptions {
  /** In ms, for all that is asked. Default 2,000. */
  readonly timeoutMs?: number;
}

const runFile = promisify(execFile);

/** Reading two small files takes milliseconds; more is a disk or a network file system that hangs. */
const defaultTimeoutMs = 2_000;
const preferredRemote = "origin";

/**
 * Remote and commit of the repository a folder is in, by the `git` command: the remote `origin`, else the first one.
 * What git does not say (no repository, no git, no answer in time) is absent; nothing is changed. Never rejects for any
 * of that.
 */
export async function readGitState(cwd: string, options: ReadGitStateOptions = {}): Promise<GitState> {
  const signal = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  const [commit, remote] = await Promise.all([
    askGit(cwd, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], signal),
    readRemote(cwd, signal),
  ]);
  return { ...(remote === undefined ? {} : { remote }), ...(commit === undefined ? {} : { commit }) };
}

async function readRemote(cwd: string, signal: AbortSignal): Promise<string | undefined> {
  const names = (await askGit(cwd, ["remote"], signal))?.split("\n") ?? [];
  const name = names.includes(preferredRemote) ? preferredRemote : names[0];
  const address = name === undefined ? undefined : await askGit(cwd, ["remote", "get-url", "--", name], signal);
  if (address === undefined) return undefined;
  // Loaded here: a folder without a remote needs nothing of it.
  const { removeCredentials } = await import("@coppice/client");
  return removeCredentials(address);
}

/** What git prints, without blanks around it; undefined when it prints nothing or fails, for whatever reason. */
async function askGit(cwd: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  try {
    const { stdout } = await runFile("git", args, { cwd, signal, windowsHide: true });
    return stdout.trim() || undefined;
  } catch {
    // No git, no repository, one of another user, no commit yet, or too late: all the same to who asks.
    return undefined;
  }
}
