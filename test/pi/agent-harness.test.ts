import { NodeExecutionEnv } from "pi-agent-core-0-80/node";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ConversationStep, type CreateHarness, playConversation } from "./conversation.ts";
import { createStorage, storageKinds } from "./coppice-storages.ts";
import {
  createCoppiceSubject,
  createPiSubject,
  type Generation,
  generations,
  openPiSession,
  pi,
} from "./pi-packages.ts";
import { createScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { sharedPlaceMakers } from "./shared-places.ts";
import type { Subject } from "./subject.ts";

const startMs = Date.UTC(2026, 0, 2);

// Entries and messages of both get the same times, so they can be compared to the letter.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

function play(generation: Generation, subject: Subject): Promise<ConversationStep[]> {
  const model = createScriptedModel(pi[generation].ai);
  const beforeStep = (step: number): void => {
    vi.setSystemTime(startMs + step * 60_000);
  };
  return playConversation(subject, model, harnessMaker(generation, model), beforeStep);
}

function harnessMaker(generation: Generation, { models, getModel }: ScriptedModel): CreateHarness {
  const { AgentHarness } = pi[generation].core;
  return (session, tools) =>
    new AgentHarness({
      // Not used by 0.82.
      env: new NodeExecutionEnv({ cwd: "/" }),
      session: session as never,
      models,
      tools,
      model: getModel("plain"),
      systemPrompt: "You are a test.",
    });
}

describe.each(generations)("AgentHarness of pi-agent-core %s", (generation) => {
  it("[PI3] the conversation it is tested with does what it is there for", async () => {
    const played = await play(generation, createPiSubject(generation, { id: "any", createdAt: "2026-01-02" }));
    expect(played.flatMap(({ requests }) => requests).length).toBeGreaterThanOrEqual(25);
    const kinds = new Set(played.flatMap(({ added }) => added.map(({ type }) => type)));
    for (const type of ["message", "leaf", "branch_summary", "compaction", "label", "active_tools_change"]) {
      expect(kinds).toContain(type);
    }
    const refusals = played.map(({ outcome }) => outcome.code).filter((code) => code !== undefined);
    expect(new Set(refusals)).toEqual(new Set(["invalid_argument", "compaction", "session"]));
    expect(JSON.stringify(played)).toContain('"busy"');
  });

  it.each(storageKinds)(
    "[PI3] asks, keeps and refuses on Coppice's storage (%s) what it does on pi's own",
    async (kind) => {
      const place = await createStorage(kind);
      onTestFinished(() => place.close());
      const expected = await play(generation, createPiSubject(generation, await place.storage.getMetadata()));
      const found = await play(
        generation,
        createCoppiceSubject(place, (storage) => openPiSession(generation, storage)),
      );
      for (const [index, step] of expected.entries()) expect(found[index]).toEqual(step);
      expect(found.length).toBe(expected.length);
    },
  );

  it.each(Object.keys(sharedPlaceMakers))(
    "[PI3, YS121] asks, keeps and refuses on Coppice's storage (%s) what it does on pi's own",
    async (kind) => {
      const place = await sharedPlaceMakers[kind]?.();
      if (place === undefined) throw new Error(`no place ${kind}`);
      onTestFinished(() => place.close());
      const expected = await play(generation, createPiSubject(generation, await place.storage.getMetadata()));
      const found = await play(
        generation,
        createCoppiceSubject(place, (storage) => openPiSession(generation, storage)),
      );
      expect(found).toEqual(expected);
      if (kind.includes("foreign")) expect(place.foreignEntries).toBeGreaterThan(expected.length);
    },
  );

  it("[PI5] on a storage with Coppice's own error class reports the same refusals by the operation", async () => {
    const place = await createStorage("memory");
    onTestFinished(() => place.close());
    const model = createScriptedModel(pi[generation].ai);
    const { Session } = pi[generation].core;
    const session = new Session(place.storage as never);
    const harness = harnessMaker(generation, model)(session as never, []);
    await place.storage.close();
    const refusal = { message: "The session storage is closed", cause: { name: "SessionError", code: "closed" } };
    await expect(harness.setModel(model.getModel("thinker"))).rejects.toMatchObject({ ...refusal, code: "session" });
    await expect(harness.setActiveTools([])).rejects.toMatchObject({ ...refusal, code: "invalid_argument" });
  });
});
