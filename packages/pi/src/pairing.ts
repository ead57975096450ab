import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { formatPairingLink, isPairingLink, parsePairingLink, parseRelayAddress } from "@coppice/client";
import { createUuidV7, SessionError } from "@coppice/core";
import { attachRelay, createHome, findHome } from "@coppice/home";
import { renderUnicodeCompact } from "uqr";
import type { PairAnswer } from "./protocol.ts";

const workspaceKeyBytes = 32;
/** A reader that is held to a screen needs some quiet around the code, in modules. */
const qrBorder = 2;

/**
 * Makes a workspace at the relay that `text` names, or joins the one of its pairing link; without a text gives the link
 * for another device. Rejects `invalid_entry` for a text that is neither, `storage` for a device that is in another
 * workspace, and when the home cannot be written.
 */
export async function pair(homeFolder: string, text: string): Promise<PairAnswer> {
  const home = await findHome(homeFolder);
  if (text === "") {
    if (home?.relay === undefined) return { kind: home === undefined ? "no-workspace" : "no-relay" };
    const link = formatPairingLink(home);
    return { kind: "link", link, qr: renderUnicodeCompact(link, { border: qrBorder }) };
  }
  const wanted = isPairingLink(text) ? parsePairingLink(text) : { relay: parseRelayAddress(text) };
  if (home === undefined) {
    const device = { id: createUuidV7(), name: hostname() };
    const workspaceKey = new Uint8Array(randomBytes(workspaceKeyBytes));
    const made = await createHome(homeFolder, device, { workspaceKey, ...wanted });
    return { kind: "workspaceKey" in wanted ? "joined" : "made", deviceName: made.device.name };
  }
  const isSame = !("workspaceKey" in wanted) || Buffer.compare(wanted.workspaceKey, home.workspaceKey) === 0;
  if (!isSame || (home.relay !== undefined && home.relay !== wanted.relay))
    throw new SessionError("storage", `This device is in a workspace already, with its home in ${homeFolder}.`);
  if (home.relay === undefined && wanted.relay !== undefined) await attachRelay(home, wanted.relay);
  return { kind: "joined", deviceName: home.device.name };
}
