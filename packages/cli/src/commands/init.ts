import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import {
  type DeviceIdentity,
  isPairingLink,
  type PairingInvitation,
  parsePairingLink,
  parseRelayAddress,
} from "@coppice/client";
import { createUuidV7, SessionError } from "@coppice/core";
import { attachRelay, createHome, findHome, type Home } from "@coppice/home";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { toShape } from "../json-shapes.ts";
import { UsageError } from "../usage-error.ts";

const workspaceKeyBytes = 32;

/** `coppice init`: makes a workspace here, or joins the one a link names. */
export const initCommand: CliCommand = defineCliCommand({
  name: "init",
  summary: "Make a workspace on this device, or join one",
  args: {
    from: {
      type: "positional",
      required: false,
      description:
        "Address of the relay (makes a new workspace), or the link another device printed (joins its workspace); without it the workspace stays on this device",
    },
    name: { type: "string", description: "Name of this device (default: the machine's)", valueHint: "NAME" },
    person: { type: "string", description: "Who uses this device", valueHint: "NAME" },
    move: { type: "boolean", description: "Go over to the relay at this address; it is sent all that is here" },
  },
  examples: [
    "coppice init ws://127.0.0.1:4600 --name laptop",
    "coppice init 'ws://127.0.0.1:4600/#coppice=…' --name desktop",
    "coppice init wss://new-relay.example --move",
  ],
  run: async ({ from, name, person, move }, { output, homeFolder }) => {
    const wanted = parseWanted(from);
    const known = await findHome(homeFolder);
    const home =
      known === undefined
        ? await createHome(homeFolder, makeDevice(name, person), toInvitation(wanted))
        : await adapt(known, wanted, { name, person }, move === true);
    output.print(
      `${home.device.name} is ready: ${home.relay === undefined ? "no relay yet" : `relay ${home.relay}`}, data in ${home.folder}`,
    );
    for (const step of describeNextSteps(home, wanted)) output.print(step);
    output.printJson(toShape("init", { home: home.folder, device: home.device, relay: home.relay ?? null }));
  },
});

/** What to type next, a line each. */
function describeNextSteps({ relay }: Home, { workspaceKey }: Wanted): string[] {
  if (relay !== undefined && workspaceKey !== undefined)
    return ["next: `coppice sync --once` fetches the sessions, `coppice sync` stays and keeps in step"];
  const importing = "next: `coppice import FILE` brings a session in";
  return relay === undefined
    ? [`${importing}; \`coppice init ws://ADDRESS\` adds a relay later`]
    : [`${importing}, \`coppice link\` prints the link for another device`];
}

/** What the user asked for: a relay, a whole invitation, or nothing. */
type Wanted = Partial<PairingInvitation>;

function parseWanted(from: string | undefined): Wanted {
  if (from === undefined) return {};
  try {
    return isPairingLink(from) ? parsePairingLink(from) : { relay: parseRelayAddress(from) };
  } catch (error) {
    if (error instanceof SessionError) throw new UsageError(error.message);
    throw error;
  }
}

function toInvitation(wanted: Wanted): PairingInvitation {
  return { workspaceKey: new Uint8Array(randomBytes(workspaceKeyBytes)), ...wanted };
}

function makeDevice(name: string | undefined, person: string | undefined): DeviceIdentity {
  return { id: createUuidV7(), name: name || hostname(), ...(person === undefined ? {} : { person }) };
}

/**
 * A home keeps its workspace for good, since everything in its store is sealed with keys of that one. What is the same
 * already is fine, a workspace without a relay may get one, and one with a relay goes over to another when told to or
 * when the link of the same workspace names it.
 */
async function adapt(
  home: Home,
  wanted: Wanted,
  device: { name: string | undefined; person: string | undefined },
  isMove: boolean,
): Promise<Home> {
  const isOtherDevice =
    (device.name !== undefined && device.name !== home.device.name) ||
    (device.person !== undefined && device.person !== home.device.person);
  if (isOtherDevice) {
    throw new SessionError(
      "storage",
      `${home.folder} is the home of the device ${home.device.name} already; leave --name and --person out, or choose another folder with --home.`,
    );
  }
  const isOtherWorkspace =
    wanted.workspaceKey !== undefined && Buffer.compare(wanted.workspaceKey, home.workspaceKey) !== 0;
  const held = home.relay === undefined ? "a workspace without a relay" : `a workspace at ${home.relay}`;
  if (isOtherWorkspace)
    throw new SessionError("storage", `${home.folder} belongs to ${held} already; choose another folder with --home.`);
  const isOtherRelay = wanted.relay !== undefined && home.relay !== undefined && wanted.relay !== home.relay;
  // An address alone may as well be meant to make a new workspace.
  if (isOtherRelay && wanted.workspaceKey === undefined && !isMove)
    throw new SessionError(
      "storage",
      `${home.folder} belongs to ${held} already; to go over to another relay say --move, for another workspace choose another folder with --home.`,
    );
  return wanted.relay === undefined || wanted.relay === home.relay ? home : await attachRelay(home, wanted.relay);
}
