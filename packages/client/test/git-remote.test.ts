import { describe, expect, it } from "vitest";
import { groupSessionsByRemote, normalizeGitRemote, removeCredentials } from "../src/git-remote.ts";

describe("git remotes", () => {
  const forms = [
    "git@github.com:ada/engine.git",
    "github.com:ada/engine",
    "ssh://git@github.com/ada/engine.git",
    "ssh://git@github.com:22/ada/engine.git/",
    "https://github.com/ada/engine",
    "https://GitHub.com/ada/engine.git",
    "https://ada:secret@github.com:443/ada/engine/",
    "git://github.com/ada/engine.git",
    "  https://github.com/ada/engine.git\n",
  ];

  it.each(forms)("[WS43] %j is the one repository that all its forms name", (form) => {
    expect(normalizeGitRemote(form)).toBe("github.com/ada/engine");
  });

  it.each([
    ["git@github.com:Ada/engine.git", "github.com/Ada/engine"],
    ["https://host.example:8443/a/b.git", "host.example:8443/a/b"],
    ["ssh://host.example:2222/a", "host.example:2222/a"],
    ["https://host.example/a%20b", "host.example/a b"],
    ["https://host.example/a%ff", "host.example/a%ff"],
    ["/srv/git/a.git/", "/srv/git/a"],
    ["../a", "../a"],
    ["C:\\code\\a", "C:\\code\\a"],
    ["file:///srv/git/a.git", "file:///srv/git/a"],
    ["/", "/"],
    ["", ""],
  ])("[WS43] %j keeps what tells it from others", (remote, normalized) => {
    expect(normalizeGitRemote(remote)).toBe(normalized);
  });

  it("[WS43] groups keep the order of their sessions, and those without a remote are one", () => {
    const sessions = [
      { id: "a", gitRemote: "git@github.com:ada/engine.git" },
      { id: "b" },
      { id: "c", gitRemote: "https://github.com/ada/engine" },
      { id: "d", gitRemote: "https://github.com/ada/notes" },
      { id: "e" },
    ];
    const groups = groupSessionsByRemote(sessions);
    expect(groups.map(({ remote, sessions }) => [remote, sessions.map(({ id }) => id).join("")])).toEqual([
      ["github.com/ada/engine", "ac"],
      [undefined, "be"],
      ["github.com/ada/notes", "d"],
    ]);
  });

  it.each([
    ["https://ada:secret@host.example/a.git", "https://host.example/a.git"],
    ["https://token@host.example/a.git", "https://host.example/a.git"],
    ["ssh://git:secret@host.example/a.git", "ssh://git@host.example/a.git"],
    ["git@host.example:a.git", "git@host.example:a.git"],
    ["/srv/git/a", "/srv/git/a"],
  ])("[WS39] %j is written without what is secret in it", (remote, written) => {
    expect(removeCredentials(remote)).toBe(written);
  });
});
