import { describe, expect, it } from "vitest";
import { formatPairingLink, isPairingLink, parsePairingLink, parseRelayAddress } from "../src/pairing-link.ts";

const workspaceKey = Uint8Array.from({ length: 32 }, (_, at) => (at * 37) % 256);

describe("pairing links", () => {
  it.each([{ relay: "ws://127.0.0.1:4600" }, { relay: "wss://relay.example/team" }, {}])(
    "[WS6] a link brings relay and key back: %j",
    (place) => {
      const link = formatPairingLink({ ...place, workspaceKey });
      expect(isPairingLink(link)).toBe(true);
      expect(parsePairingLink(link)).toEqual({ ...place, workspaceKey });
    },
  );

  it("[WS6] the key stands in the fragment only", () => {
    const link = formatPairingLink({ relay: "wss://relay.example", workspaceKey });
    const url = new URL(link);
    expect(url.hash.length).toBeGreaterThan(40);
    url.hash = "";
    expect(url.href).toBe("wss://relay.example/");
  });

  it.each([
    "ws://127.0.0.1:4600/#coppice=",
    "ws://127.0.0.1:4600/#coppice=abc",
    "ws://127.0.0.1:4600/#other",
    "#",
    "x",
  ])("[WS6] a damaged link is refused with what to do: %s", (text) => {
    expect(() => parsePairingLink(text)).toThrow(/coppice link/);
  });

  it("[WS6] a refusal does not repeat the key", () => {
    const link = `${formatPairingLink({ relay: "ws://127.0.0.1:4600", workspaceKey })}AAAA`;
    let message = "";
    try {
      parsePairingLink(link);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain("damaged");
    expect(message).not.toContain(link.slice(-20));
  });

  it.each(["http://x", "relay.example", "ws://host/?q=1", ""])("[WS6] %j is no relay address", (text) => {
    expect(() => parseRelayAddress(text)).toThrow(/is not a relay address/);
  });
});
