import type { Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import type { Home } from "@coppice/home";
import type { CliSurroundings, CommandContext } from "../command.ts";
import { toFailure } from "../error-sentence.ts";
import type { Connected, OpenHome } from "../opened-home.ts";
import { CommandServer, type HandedCommand } from "./command-server.ts";
import { toChunks } from "./hand-to-sync.ts";
import { readPackageVersion } from "./package-version.ts";

/** What a `sync` that does commands for others works with. */
export interface TakeCommandsOptions {
  readonly home: Home;
  readonly workspace: Workspace;
  readonly context: CommandContext;
  /** Aborted when `sync` is to end: from then on nothing waits for the relay. */
  readonly stopSignal: AbortSignal;
}

/** Does the commands of other processes of the home over its open workspace, until the server is closed (SPEC CP70). */
export function takeCommands({ home, workspace, context, stopSignal }: TakeCommandsOptions): Promise<CommandServer> {
  const { handedCommands, output } = context;
  return CommandServer.open({
    homeFolder: home.folder,
    version: readPackageVersion(),
    accepts: async ({ args }) => {
      try {
        return await handedCommands.accepts(args);
      } catch {
        // Called wrongly: the command says so itself.
        return false;
      }
    },
    run: (command) =>
      handedCommands.run(
        command.request.args,
        toSurroundings(command, stopSignal),
        shareHome(home, workspace, command.abandoned, stopSignal),
      ),
    onOtherServer: () =>
      output.remark(
        "another `coppice sync` of this home does its commands; this one follows, and takes over when that ends",
      ),
    onError: (error) => output.remark(`commands of this home act by themselves: ${toFailure(error).sentence}`),
  });
}

/** The process that handed the command over, as the command sees it. */
function toSurroundings({ request, write }: HandedCommand, stopSignal: AbortSignal): CliSurroundings {
  return {
    stdout: { ...request.stdout, write: (text) => write("stdout", text) },
    stderr: { ...request.stderr, write: (text) => write("stderr", text) },
    stdin: toChunks(request.input ?? ""),
    env: request.env,
    platform: process.platform,
    listenForStop: () => stopSignal,
  };
}

function shareHome(home: Home, workspace: Workspace, abandoned: AbortSignal, stopSignal: AbortSignal): OpenHome {
  const noWait = AbortSignal.any([abandoned, stopSignal]);
  return {
    home,
    workspace,
    isShared: true,
    waitFor: (connected, wait) => waitWhileUseful(connected, wait, noWait),
    assertWanted: () => {
      if (abandoned.aborted) throw new SessionError("closed", "The command was ended before it wrote anything.");
    },
  };
}

/** As in a process that does one thing: the wait ends when the relay cannot be reached. `sync` itself tries on. */
function waitWhileUseful(connected: Connected, wait: Promise<boolean>, noWait: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const finish = (isReached: boolean): void => {
      stop();
      noWait.removeEventListener("abort", giveUp);
      resolve(isReached);
    };
    const giveUp = (): void => finish(false);
    const check = (): void => {
      if (connected.status().relay.state === "offline") giveUp();
    };
    const stop = connected.subscribe(check);
    noWait.addEventListener("abort", giveUp);
    wait.then(finish, reject);
    if (noWait.aborted) giveUp();
    else check();
  });
}
