import { describe, expect, it } from "vitest";
import { findHomeFolder } from "../src/home.ts";

const userFolder = "/home/mira";

describe("findHomeFolder", () => {
  it.each([
    ["the option, before the environment", "/data/one", { COPPICE_HOME: "/data/two" }, "linux", "/data/one"],
    ["COPPICE_HOME", undefined, { COPPICE_HOME: "/data/two", XDG_DATA_HOME: "/xdg" }, "linux", "/data/two"],
    ["XDG_DATA_HOME", undefined, { XDG_DATA_HOME: "/xdg" }, "linux", "/xdg/coppice"],
    [
      "its default, also for a relative one",
      undefined,
      { XDG_DATA_HOME: "xdg" },
      "linux",
      "/home/mira/.local/share/coppice",
    ],
    ["Application Support on macOS", undefined, {}, "darwin", "/home/mira/Library/Application Support/coppice"],
    ["LOCALAPPDATA on Windows", undefined, { LOCALAPPDATA: "/local" }, "win32", "/local/coppice"],
    ["its default on Windows", undefined, {}, "win32", "/home/mira/AppData/Local/coppice"],
  ] as const)("[CP10] is %s", (_what, option, env, platform, folder) => {
    expect(findHomeFolder(option, { env, platform, userFolder })).toBe(folder);
  });
});
