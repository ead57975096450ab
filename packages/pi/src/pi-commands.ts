import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { completeCommand, describeCommands, parseCommand, type TypedCommand } from "./command-words.ts";
import type { PiCoppice } from "./pi-coppice.ts";
import type { ListedDevice, ListedSession, OpenAnswer } from "./protocol.ts";
import { count } from "./sync-phase.ts";

/** Registers `/coppice` with everything that can follow it. `find`: what there is of the session that pi runs now. */
export function registerCommands(pi: ExtensionAPI, find: () => PiCoppice | undefined): void {
  pi.registerCommand("coppice", {
    description: "Share this session with your other devices (/coppice help)",
    getArgumentCompletions: completeCommand,
    handler: async (args, ctx) => {
      const coppice = find();
      const command = parseCommand(args);
      if (coppice === undefined) return;
      if (command === undefined) {
        ctx.ui.notify(`Coppice has no command "${args.trim()}".\n${describeCommands()}`, "warning");
        return;
      }
      try {
        await runCommand(command, coppice, ctx);
      } catch (error) {
        // What a command came to is said where it was typed; pi itself goes on.
        ctx.ui.notify(`Coppice: ${error instanceof Error ? error.message : String(error)}`, "error");
      }
    },
  });
}

async function runCommand(
  { words, argument }: TypedCommand,
  coppice: PiCoppice,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const say = (text: string): void => ctx.ui.notify(text, "info");
  switch (words) {
    case "":
      return say(await coppice.describe());
    case "on":
    case "on project":
      return say(coppice.switchOn(words === "on" ? "session" : "project"));
    case "off":
    case "off project":
      return say(await coppice.switchOff(words === "off" ? "session" : "project"));
    case "pause":
      return say(await coppice.pause());
    case "resume":
      return say(coppice.resume());
    case "devices": {
      const { devices } = await coppice.listDevices();
      return say(devices.map(describeDevice).join("\n"));
    }
    case "open":
      return openSession(coppice, argument, ctx);
    case "import":
      return coppice.sessionImport.command(ctx);
    case "pair":
      return pair(coppice, argument, ctx);
    case "help":
      return say(describeCommands());
    default:
      throw new Error(`there is no /coppice ${words}.`);
  }
}

async function pair(coppice: PiCoppice, text: string, ctx: ExtensionCommandContext): Promise<void> {
  const answer = await coppice.pair(text);
  switch (answer.kind) {
    case "made":
      return ctx.ui.notify(
        `${answer.deviceName} has a workspace now. /coppice pair shows the link for another device.${await coppice.sessionImport.invite()}`,
        "info",
      );
    case "joined":
      return ctx.ui.notify(
        `${answer.deviceName} is in the workspace. /coppice open goes on with one of its sessions.${await coppice.sessionImport.invite()}`,
        "info",
      );
    case "no-relay":
      return ctx.ui.notify(
        "This workspace has no relay, so no other device can reach it: /coppice pair ws://ADDRESS adds one.",
        "info",
      );
    case "no-workspace": {
      const title = "Coppice: paste the link of another device (/coppice pair shows it there), or a relay's address";
      const given = (await ctx.ui.input(title, "wss://relay.example"))?.trim();
      if (given) return pair(coppice, given, ctx);
      return ctx.ui.notify(
        "This device is in no workspace yet. /coppice pair ws://ADDRESS makes one at a relay, /coppice pair LINK joins that of another device.",
        "info",
      );
    }
    case "link": {
      const warning = "Whoever has it reads and writes every session of the workspace: treat it as a password.";
      if (!(await ctx.ui.confirm("Coppice: show the link for another device?", warning))) return;
      return ctx.ui.notify(
        `${answer.qr}\n\n${answer.link}\n\nOn the other device: /coppice pair LINK. ${warning}`,
        "info",
      );
    }
  }
}

async function openSession(coppice: PiCoppice, reference: string, ctx: ExtensionCommandContext): Promise<void> {
  const chosen = reference === "" ? await chooseSession(coppice, ctx) : reference;
  if (chosen === undefined) return;
  await ctx.waitForIdle();
  try {
    await openFile(await coppice.prepareOpen(chosen), coppice, ctx);
  } catch (error) {
    // pi stays where it is.
    coppice.start();
    throw error;
  }
}

async function openFile(
  { file, movedOn, warnings }: OpenAnswer,
  coppice: PiCoppice,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const said =
    movedOn && `Coppice: past ${count(movedOn.entries, "entry", "entries")} of ${movedOn.deviceNames.join(", ")}.`;
  const { cancelled } = await ctx.switchSession(file, {
    // The session of before is gone, and with it everything that belonged to it.
    withSession: async (opened) => {
      for (const warning of warnings) opened.ui.notify(`Coppice: ${warning}`, "warning");
      if (said !== undefined) opened.ui.notify(said, "info");
    },
  });
  // Another extension keeps pi where it is: on as before.
  if (cancelled) coppice.start();
}

async function chooseSession(coppice: PiCoppice, ctx: ExtensionCommandContext): Promise<string | undefined> {
  const sessions = await coppice.listSessions();
  if (sessions.length === 0) throw new Error("there is no session in the workspace yet.");
  if (!ctx.hasUI) throw new Error("say which session: /coppice open SESSION.");
  const byTitle = new Map(sessions.map((session) => [describeSession(session), session.id]));
  const title = await ctx.ui.select("Coppice: which session?", [...byTitle.keys()]);
  return title === undefined ? undefined : byTitle.get(title);
}

/** Ids are in every line, so that no two are equal. Times are the user's own. */
function describeSession({ id, name, createdAt, lastActivityAt }: ListedSession): string {
  // The Swedish write a time as "2026-01-31 23:59", in the order in which it is read and sorted.
  const at = new Date(lastActivityAt ?? createdAt).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });
  const shownDigits = 12;
  return `${name ?? "(no name)"} · ${at} · ${id.slice(-shownDigits)}`;
}

function describeDevice({ name, isThis, isPresent, isRunning }: ListedDevice): string {
  const remarks = [isThis && "this device", isPresent && "has this session open", isRunning && "an agent runs"];
  return [name, ...remarks.filter((remark) => remark !== false)].join(" · ");
}
