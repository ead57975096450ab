import { describe, expect, it } from "vitest";
import {
  formatPairingLink,
  formatWebLink,
  isPairingLink,
  parsePairingLink,
  parseRelayAddress,
} from "../src/pairing-link.ts";

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

  const key = "ACVKb5S53gMoTXKXvOEGK1B1mr_kCS5TeJ3C5wwxVns";

  it("[WS6] a link of the first version, the key alone, is read", () => {
    expect(parsePairingLink(`ws://127.0.0.1:4600/#coppice=${key}`)).toEqual({
      relay: "ws://127.0.0.1:4600",
      workspaceKey,
    });
  });

  it("[WS6] a link is what it always was", () => {
    expect(formatPairingLink({ relay: "wss://r.example", workspaceKey })).toBe(
      `wss://r.example/#coppice=2.${key}.TdeHxA`,
    );
  });

  it("[WS6] a link with any character changed is refused instead of leading to an empty workspace", () => {
    const link = formatPairingLink({ workspaceKey });
    const from = link.indexOf("2.") + 2;
    let refused = 0;
    for (let at = from; at < link.length; at++) {
      for (const character of ["A", "b", "_", "."]) {
        if (character === link[at]) continue;
        const changed = link.slice(0, at) + character + link.slice(at + 1);
        try {
          // The last character of either part may carry bits that no byte needs.
          expect(parsePairingLink(changed).workspaceKey).toEqual(workspaceKey);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_entry" });
          refused++;
        }
      }
    }
    expect(refused).toBeGreaterThan(180);
  });

  it("[WS6, WS50] a link of a newer version says upgrade", () => {
    for (const link of ["ws://127.0.0.1:4600/#coppice=4.anything", "coppice:/#coppice=17.x.y.z"])
      expect(() => parsePairingLink(link)).toThrow(
        expect.objectContaining({ code: "version_mismatch", message: expect.stringContaining("upgrade") }),
      );
  });

  it.each([
    "ws://127.0.0.1:4600/#coppice=2.",
    `ws://127.0.0.1:4600/#coppice=2.${key}`,
    `ws://127.0.0.1:4600/#coppice=2.${key}.`,
    `ws://127.0.0.1:4600/#coppice=0.${key}.AAAAAA`,
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

  it.each([
    ["ws://127.0.0.1:4600", undefined, `http://127.0.0.1:4600/#coppice=2.${key}.TdeHxA`],
    ["wss://r.example/team", undefined, `https://r.example/team/#coppice=2.${key}.TdeHxA`],
    ["wss://r.example", "https://r.example/", `https://r.example/#coppice=2.${key}.TdeHxA`],
    [
      "wss://r.example/team",
      "http://127.0.0.1:4601",
      `http://127.0.0.1:4601/#coppice=3.${key}.TdeHxA.wss%3A%2F%2Fr.example%2Fteam`,
    ],
    [undefined, "http://127.0.0.1:4601", `http://127.0.0.1:4601/#coppice=3.${key}.TdeHxA.`],
  ])("[WS90] a link for a browser, of relay %s and page %s, is what it always was", (relay, page, link) => {
    const invitation = { ...(relay === undefined ? {} : { relay }), workspaceKey };
    expect(formatWebLink(invitation, page)).toBe(link);
    expect(isPairingLink(link)).toBe(true);
    expect(parsePairingLink(link)).toEqual(invitation);
  });

  it.each([
    `http://h/#coppice=3.${key}.TdeHxA`,
    `http://h/#coppice=3.${key}.TdeHxB.`,
    `http://h/#coppice=3.${key}.TdeHxA.%`,
    `ws://h/#coppice=3.${key}.TdeHxA.`,
  ])("[WS90] a damaged link for a browser is refused with what to do: %s", (link) => {
    expect(() => parsePairingLink(link)).toThrow(/coppice link/);
  });

  it("[WS90] a workspace without a relay has no page but a named one", () => {
    expect(() => formatWebLink({ workspaceKey })).toThrow(expect.objectContaining({ code: "invalid_entry" }));
    expect(() => formatWebLink({ workspaceKey }, "ws://x")).toThrow(expect.objectContaining({ code: "invalid_entry" }));
  });

  it.each(["http://x", "relay.example", "ws://host/?q=1", ""])("[WS6] %j is no relay address", (text) => {
    expect(() => parseRelayAddress(text)).toThrow(/is not a relay address/);
  });
});
