import type { CliCommand } from "./command.ts";

// Loaded one by one: `coppice --help` needs no database, and `coppice log` no relay.
const loadersByName: ReadonlyMap<string, () => Promise<CliCommand>> = new Map([
  ["init", async () => (await import("./commands/init.ts")).initCommand],
  ["link", async () => (await import("./commands/link.ts")).linkCommand],
  ["import", async () => (await import("./commands/import.ts")).importCommand],
  ["sync", async () => (await import("./commands/sync.ts")).syncCommand],
  ["sessions", async () => (await import("./commands/sessions.ts")).sessionsCommand],
  ["show", async () => (await import("./commands/show.ts")).showCommand],
  ["tree", async () => (await import("./commands/tree.ts")).treeCommand],
  ["log", async () => (await import("./commands/log.ts")).logCommand],
  ["append", async () => (await import("./commands/append.ts")).appendCommand],
  ["open", async () => (await import("./commands/open.ts")).openCommand],
  ["move", async () => (await import("./commands/move.ts")).moveCommand],
  ["label", async () => (await import("./commands/label.ts")).labelCommand],
  ["rename", async () => (await import("./commands/rename.ts")).renameCommand],
  ["fork", async () => (await import("./commands/fork.ts")).forkCommand],
  ["archive", async () => (await import("./commands/archive.ts")).archiveCommand],
  ["delete", async () => (await import("./commands/delete.ts")).deleteCommand],
  ["device", async () => (await import("./commands/device.ts")).deviceCommand],
  ["devices", async () => (await import("./commands/devices.ts")).devicesCommand],
  ["watch", async () => (await import("./commands/watch.ts")).watchCommand],
  ["status", async () => (await import("./commands/status.ts")).statusCommand],
  ["web", async () => (await import("./commands/web.ts")).webCommand],
  ["serve", async () => (await import("./commands/serve.ts")).serveCommand],
]);

/** Names of all commands, in the order `--help` lists them. */
export const commandNames: readonly string[] = [...loadersByName.keys()];

/** The command of a name, or undefined when there is none. */
export async function loadCommand(name: string): Promise<CliCommand | undefined> {
  return await loadersByName.get(name)?.();
}
