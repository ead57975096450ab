import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Workspace } from "@coppice/client";
import { SyncSwitches } from "@coppice/home";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chooseFiles, describeSurvey, describeTaken } from "../src/import-words.ts";
import { countSessions, surveySessions, type TakingInOptions, takeInFiles } from "../src/taking-in.ts";

// Put together here, so that no file of the project holds anything that looks like a secret.
const token = `ghp_${"a1B2c3".repeat(6)}`;
let folder: string;
let switches: SyncSwitches;
let abort: AbortController;
let imported: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "coppice-taking-in-"));
  switches = new SyncSwitches(join(folder, "home"));
  abort = new AbortController();
  imported = [];
});
afterEach(() => rm(folder, { recursive: true }));

async function writeSession(id: string, text: string, cwd = "/project"): Promise<string> {
  const sessions = join(folder, "sessions");
  await mkdir(sessions, { recursive: true });
  const path = join(sessions, `${id}.jsonl`);
  const timestamp = "2026-01-01T00:00:00.000Z";
  const header = { type: "session", version: 3, id, timestamp, cwd };
  const message = { role: "user", content: text, timestamp: 0 };
  const entry = { type: "message", id: "00000001", parentId: null, timestamp, message };
  await writeFile(path, `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`);
  return path;
}

/** A workspace that knows these sessions, and whose import fails for the session `bad`. */
function optionsWith(listed: readonly { id: string; deleted: boolean }[] = []): TakingInOptions {
  const workspace = {
    listSessions: () => listed,
    importSession: async ({ headerJson, lines }: { headerJson: string; lines: AsyncIterable<string> }) => {
      const { id } = JSON.parse(headerJson);
      if (id === "bad") throw new Error("it cannot be taken");
      for await (const line of lines) imported.push(`${id} ${JSON.parse(line).id}`);
      return { session: { close: async () => undefined }, refused: [], isComplete: true };
    },
  } as unknown as Workspace;
  return { workspace, switches, rest: async () => undefined, onStep: () => undefined, signal: abort.signal };
}

const request = () => ({ sessionsFolder: join(folder, "sessions"), cwd: "/project", exceptId: "current" });

describe("sessions that are here already", () => {
  it("[EX50] are counted with those that are known and those with likely secrets, but the one that pi runs", async () => {
    expect(await countSessions(request())).toBe(0);
    const clean = await writeSession("clean", "hello");
    const risky = await writeSession("risky", `use ${token}`);
    await writeSession("known", token);
    await writeSession("current", token);
    expect(await countSessions(request())).toBe(3);
    const survey = await surveySessions(request(), optionsWith([{ id: "known", deleted: false }]));
    expect(survey).toMatchObject({
      found: [
        { file: clean, secrets: [] },
        { file: risky, secrets: [{ kind: "github", count: 1 }] },
      ],
      known: 1,
    });
    expect(describeSurvey(survey)).toBe("3 sessions, 1 kB, 1 known already; likely secrets in 1 of them (github 1)");
    expect([...chooseFiles(survey.found)]).toEqual([
      ["All 2", [clean, risky]],
      ["The 1 without likely secrets", [clean]],
      ["None", []],
    ]);
    expect(imported).toEqual([]);
  });

  it("[EX51] are passed over when they were deleted or are switched off", async () => {
    await writeSession("deleted", "hello");
    await writeSession("off", "hello");
    await writeSession("of-folder", "hello", "/private/project");
    switches.setSession("off", false);
    switches.setProject("/private", false);
    const survey = await surveySessions(request(), optionsWith([{ id: "deleted", deleted: true }]));
    expect(survey).toMatchObject({ found: [], known: 0, passedOver: 3 });
  });

  it("[EX52] one that fails is told of, the others go on and are switched on", async () => {
    const files = [await writeSession("a", "1"), await writeSession("bad", "2"), await writeSession("c", "3")];
    const answer = await takeInFiles(files, optionsWith());
    expect(answer).toEqual({
      taken: 2,
      refused: 0,
      failed: [{ file: files[1], reason: "it cannot be taken" }],
      isComplete: true,
    });
    expect(describeTaken(answer, 3)).toBe(
      `2 sessions are taken in; 1 file cannot be taken in (${files[1]}: it cannot be taken).`,
    );
    expect(imported).toEqual(["a 00000001", "c 00000001"]);
    expect(["a", "bad", "c"].map((id) => switches.readSession(id))).toEqual([true, undefined, true]);
  });

  it("[EX52] what is in when it is stopped stays in", async () => {
    const files = [await writeSession("a", "1"), await writeSession("b", "2")];
    const options = optionsWith();
    const onStep: TakingInOptions["onStep"] = ({ done }) => {
      // While the second is on its way.
      if (done === 1) abort.abort();
    };
    expect(await takeInFiles(files, { ...options, onStep })).toMatchObject({ taken: 1, isComplete: false });
    expect(imported).toEqual(["a 00000001"]);
    expect(["a", "b"].map((id) => switches.readSession(id))).toEqual([true, undefined]);
    await expect(surveySessions(request(), options)).rejects.toMatchObject({ code: "closed" });
  });
});
