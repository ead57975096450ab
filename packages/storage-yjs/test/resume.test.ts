import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import type { EntryNode } from "../src/entry-node.ts";
import { RecordCodec } from "../src/record-codec.ts";
import { planResume, type ResumePlan, type ResumeView } from "../src/resume.ts";
import { messageContent } from "./helpers.ts";
import {
  appendChain,
  createReplica,
  deliver,
  message,
  openReplica,
  pushRaw,
  type Replica,
  roomKeys,
  sessionId,
  syncAll,
  TestLeafStore,
} from "./replica.ts";

/** `id type? device n` below a parent: what a decision looks at. */
interface Fact {
  readonly id: string;
  readonly parentId: string | null;
  readonly device: string;
  readonly n: number;
  readonly type?: string;
  readonly targetId?: string | null;
}

function fact(id: string, parentId: string | null, device: string, n: number, type = "message"): Fact {
  return { id, parentId, device, n, type };
}

/** A view of plain facts for device `me`, standing on `leafId` since the record with number `since`. */
function viewOf(facts: readonly Fact[], leafId: string | null, since: number): ResumeView {
  const nodes = facts.map(
    ({ id, parentId, device, n, type = "message", targetId }) =>
      ({ id, parentId, type, timestamp: "t", targetId, rank: n, deviceId: device }) as EntryNode,
  );
  return {
    deviceId: "me",
    leafId,
    childrenOf: (id) => nodes.filter((node) => node.parentId === id && node.type !== "leaf"),
    isLater: ({ rank }) => rank > since,
    lastNode: () =>
      nodes.reduce<EntryNode | undefined>((last, node) => (last && last.rank >= node.rank ? last : node), undefined),
  };
}

function summarize({ kind, toId, entries, deviceIds }: ResumePlan): unknown[] {
  return [kind, toId, entries, ...deviceIds];
}

const own = [fact("a", null, "me", 1), fact("b", "a", "me", 2)];

describe("planResume", () => {
  test.each<[string, Fact[], unknown[]]>([
    ["nothing came", [], ["stay", "b", 0]],
    ["one entry of the phone", [fact("p", "b", "phone", 3)], ["fast-forward", "p", 1, "phone"]],
    [
      "a line of two devices",
      [fact("p", "b", "phone", 3), fact("q", "p", "desk", 4), fact("r", "q", "phone", 5)],
      ["fast-forward", "r", 3, "phone", "desk"],
    ],
    ["two branches", [fact("p", "b", "phone", 3), fact("q", "b", "desk", 3)], ["stay", "b", 0]],
    [
      "a branch further down",
      [fact("p", "b", "phone", 3), fact("q", "p", "phone", 4), fact("r", "p", "phone", 5)],
      ["stay", "b", 0],
    ],
    ["an own entry in the line", [fact("p", "b", "phone", 3), fact("q", "p", "me", 4)], ["stay", "b", 0]],
    ["something not later than my move", [fact("p", "b", "phone", 2)], ["stay", "b", 0]],
    ["work elsewhere", [fact("p", "a", "phone", 3)], ["stay", "b", 0]],
    ["labels alone", [fact("l", "b", "phone", 3, "label"), fact("m", "l", "desk", 4, "label")], ["stay", "b", 0]],
    [
      "a label in the line and one beside it",
      [fact("l", "b", "phone", 3, "label"), fact("p", "l", "phone", 4), fact("m", "b", "desk", 4, "label")],
      ["fast-forward", "p", 1, "phone"],
    ],
    [
      "a label of my own and a move of another",
      [fact("l", "b", "me", 3, "label"), fact("p", "b", "phone", 4), fact("v", "p", "phone", 5, "leaf")],
      ["fast-forward", "p", 1, "phone"],
    ],
    [
      "entries below two labels",
      [fact("l", "b", "phone", 3, "label"), fact("p", "l", "phone", 4), fact("q", "b", "desk", 4)],
      ["stay", "b", 0],
    ],
    ["parents in a cycle", [fact("p", "b", "phone", 3), fact("b", "p", "phone", 4)], ["stay", "b", 0]],
  ])("[YS93] fast-forward with %s", (_case, facts, expected) => {
    expect(summarize(planResume("fast-forward", viewOf([...own, ...facts], "b", 2)))).toEqual(expected);
    expect(summarize(planResume("own", viewOf([...own, ...facts], "b", 2)))).toEqual(["stay", "b", 0]);
  });

  test("[YS93] before the first entry, what grew is the whole tree", () => {
    const facts = [fact("p", null, "phone", 2), fact("q", "p", "phone", 3)];
    expect(summarize(planResume("fast-forward", viewOf(facts, null, 1)))).toEqual(["fast-forward", "q", 2, "phone"]);
    expect(summarize(planResume("fast-forward", viewOf([], null, 1)))).toEqual(["stay", null, 0]);
  });

  test("[YS94] latest is the effect of the last record of all, wherever it is", () => {
    const facts = [...own, fact("p", "a", "phone", 3)];
    expect(summarize(planResume("latest", viewOf(facts, "b", 2)))).toEqual(["latest", "p", 0, "phone"]);
    expect(summarize(planResume("latest", viewOf(own, "b", 2)))).toEqual(["stay", "b", 0]);
    expect(summarize(planResume("latest", viewOf([], null, 0)))).toEqual(["stay", null, 0]);
    const moved = { ...fact("v", "p", "phone", 4, "leaf"), targetId: "a" };
    expect(summarize(planResume("latest", viewOf([...facts, moved], "b", 2)))).toEqual(["latest", "a", 0, "phone"]);
  });

  test("[YS93] decides as a plain look at every descendant does", () => {
    const anyFact = fc.record({
      parent: fc.nat({ max: 8 }),
      device: fc.constantFrom("me", "phone", "phone", "phone", "desk"),
      type: fc.constantFrom("message", "message", "message", "label", "leaf"),
    });
    let moved = 0;
    fc.assert(
      fc.property(fc.array(anyFact, { maxLength: 8 }), fc.nat({ max: 8 }), fc.nat({ max: 9 }), (drawn, leaf, since) => {
        const facts = drawn.map(({ parent, device, type }, index) =>
          fact(`e${index}`, parent < index ? `e${parent}` : null, device, index + 1, type),
        );
        const leafId = leaf < facts.length ? `e${leaf}` : null;
        const plan = planResume("fast-forward", viewOf(facts, leafId, since));
        expect(summarize(plan)).toEqual(decidePlainly(facts, leafId, since));
        if (plan.kind === "fast-forward") moved++;
      }),
      { numRuns: 500 },
    );
    expect(moved).toBeGreaterThan(0);
  });
});

/** The same decision from all pairs: who has counted work on its way up to the leaf, and is that one line? */
function decidePlainly(facts: readonly Fact[], leafId: string | null, since: number): unknown[] {
  const byId = new Map(facts.map((each) => [each.id, each]));
  // As the tree shows it to `childrenOf` here: a way up through a move is no way.
  const pathOf = ({ id }: Fact): Fact[] | undefined => {
    const path: Fact[] = [];
    for (let at: string | null = id; at !== leafId; ) {
      const step: Fact | undefined = at === null ? undefined : byId.get(at);
      if (step === undefined || step.type === "leaf") return undefined;
      path.push(step);
      at = step.parentId;
    }
    return path.filter(({ type }) => type !== "label");
  };
  const work = facts.flatMap((each) => (each.type === "label" ? [] : [{ each, path: pathOf(each) }]));
  const grown = work.flatMap(({ each, path }) => (path === undefined || path.length === 0 ? [] : [{ each, path }]));
  const longest = grown.reduce<Fact[]>((most, { path }) => (path.length > most.length ? path : most), []);
  const isLine = grown.every(({ each }) => longest.includes(each));
  const isTheirs = grown.every(({ each: { device, n } }) => device !== "me" && n > since);
  const tip = longest[0];
  if (tip === undefined || !isLine || !isTheirs) return ["stay", leafId, 0];
  const deviceIds = new Set([...longest].reverse().map(({ device }) => device));
  return ["fast-forward", tip.id, longest.length, ...deviceIds];
}

describe("resuming in a storage", () => {
  async function pair(): Promise<[Replica, Replica]> {
    const a = await createReplica("laptop");
    await appendChain(a, "a1", "a2");
    return [a, await openReplica("phone", { log: [...a.log] })];
  }

  test("[YS93] says where the phone went on, and moving there is a move like any other", async () => {
    const [a, b] = await pair();
    await appendChain(b, "p1", "p2", "p3");
    deliver(b, a);
    expect(a.storage.planResume("own")).toMatchObject({ kind: "stay", toId: "a2" });
    const plan = a.storage.planResume("fast-forward");
    expect(plan).toEqual({ kind: "fast-forward", fromId: "a2", toId: "p3", entries: 3, deviceIds: ["phone"] });
    expect(await a.storage.getLeafId()).toBe("a2");
    await a.storage.setLeafId(plan.toId);
    const again = await openReplica("laptop", { log: [...a.log] });
    expect(await again.storage.getLeafId()).toBe("p3");
    expect(again.storage.planResume("fast-forward").kind).toBe("stay");
  });

  test("[YS93] whoever moved back on purpose, past what was there, is not carried on to it", async () => {
    const [a, b] = await pair();
    await appendChain(b, "p1");
    deliver(b, a);
    await a.storage.setLeafId("a2");
    expect(a.storage.planResume("fast-forward").kind).toBe("stay");
    await appendChain(b, "p2");
    deliver(b, a);
    expect(a.storage.planResume("fast-forward").kind).toBe("stay");
  });

  test("[YS93] a new device that took the place another had moved back to stays there too", async () => {
    const [a] = await pair();
    await a.storage.setLeafId("a1");
    const ownLeaf = new TestLeafStore();
    let c = await openReplica("desk", { log: [...a.log], ownLeaf });
    expect(c.storage.planResume("fast-forward").kind).toBe("stay");
    c = await openReplica("desk", { log: [...a.log], ownLeaf });
    expect(await c.storage.getLeafId()).toBe("a1");
    expect(c.storage.planResume("fast-forward").kind).toBe("stay");
  });

  test("[YS93] a new device goes on where others do", async () => {
    const [a, b] = await pair();
    expect(await b.storage.getLeafId()).toBe("a2");
    await appendChain(a, "a3");
    syncAll(a, b);
    expect(b.storage.planResume("fast-forward")).toMatchObject({ toId: "a3", entries: 1, deviceIds: ["laptop"] });
  });

  test("[YS93] a record with a forged number is no later work, whatever it claims", async () => {
    const [a] = await pair();
    const p1 = messageContent({
      id: "p1",
      parentId: "a2",
      deviceId: "phone",
      n: 1_000,
      json: JSON.stringify(message("p1", "a2")),
    });
    const clock = Y.getState(a.doc.store, a.doc.clientID);
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    pushRaw(a, codec.prepareRecord(p1).placeAt({ clientId: a.doc.clientID, clock }));
    expect((await a.storage.getChildren("a2")).map(({ id }) => id)).toEqual(["p1"]);
    expect(a.storage.planResume("fast-forward").kind).toBe("stay");
    expect(a.storage.planResume("latest").kind).toBe("stay");
  });

  test("[YS94] latest goes to the last work of all, on whatever branch", async () => {
    const [a, b] = await pair();
    await appendChain(a, "a3");
    await b.storage.setLeafId("a1");
    await appendChain(b, "b1", "b2");
    syncAll(a, b);
    expect(a.storage.planResume("latest")).toEqual({
      kind: "latest",
      fromId: "a3",
      toId: "b2",
      entries: 0,
      deviceIds: ["phone"],
    });
  });

  test("[YS95] a replica without a leaf has nothing to resume", async () => {
    const [a] = await pair();
    const b = await openReplica("phone", { log: [...a.log], synced: false });
    expect(() => b.storage.planResume("latest")).toThrow(expect.objectContaining({ code: "not_synced" }));
  });
});
