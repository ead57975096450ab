import {
  entryToTreeNode,
  InMemorySessionStorage,
  type SessionEntry,
  type SessionStorage,
  type TreeNode,
} from "@coppice/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { childrenOf, labelOf, leafAfter, nameOf, pathOf, shownNodes, tipsOf } from "./log-oracle.ts";
import { idsOrCode, readIndex } from "./read-index.ts";
import {
  idsOf,
  messageEntry,
  type SessionStorageFactory,
  type SessionStorageUnderTest,
  unknownEntry,
} from "./session-storage-under-test.ts";
import { readSimulationSettings, simulationTimeoutMs } from "./simulation-settings.ts";

/** Enough that one random run rarely takes longer, also on a storage that syncs every append to disk. */
const MAX_RUN_MS = 5_000;

/** One random step. `pick` chooses among the entries there are, wherever a step needs one. */
type Step =
  | {
      readonly kind:
        | "append"
        | "append-anywhere"
        | "append-orphan"
        | "append-again"
        | "append-unknown"
        | "append-compaction";
      readonly pick: number;
    }
  | { readonly kind: "label"; readonly pick: number; readonly text: string | undefined }
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "move" | "append-leaf" | "append-json" | "append-unawaited"; readonly pick: number }
  | { readonly kind: "move-to-root" | "move-nowhere" | "reopen" };

const pick = fc.nat(1_000);
const text = fc.constantFrom("one", " two ", "", undefined);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("append" as const), pick }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("append-anywhere", "append-orphan", "append-again", "append-unknown", "append-compaction"),
      pick,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("label" as const), pick, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("name" as const), text: fc.constantFrom("x", " y ", "") }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("move", "append-leaf", "append-json", "append-unawaited"), pick }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("move-to-root", "move-nowhere", "reopen") }) },
);

/** Random operations: after each one, queries must say what a plain array says, and the index what a rebuilt one says. */
export function testRandomOperations(factory: SessionStorageFactory): void {
  const settings = readSimulationSettings();

  describe("random operations", () => {
    test(
      "[ST30] after every operation all queries agree with a plain array of the log, and the index with one rebuilt from it",
      async () => {
        let entriesSeen = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 30 }), async (steps) => {
            const run = new ModelRun(await factory());
            try {
              for (const step of steps) await run.take(step);
              await run.take({ kind: "reopen" });
              entriesSeen += run.log.length;
            } finally {
              await run.session.close();
            }
          }),
          settings,
        );
        expect(entriesSeen).toBeGreaterThan(0);
      },
      simulationTimeoutMs(settings, MAX_RUN_MS),
    );
  });
}

class ModelRun {
  readonly session: SessionStorageUnderTest;
  /** The oracle: every record ever accepted, in order. */
  readonly log: SessionEntry[] = [];
  #storage: SessionStorage;
  #lastNumber = 0;

  constructor(session: SessionStorageUnderTest) {
    this.session = session;
    this.#storage = session.storage;
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case "append":
        await this.#append([messageEntry(this.#newId(), this.#leafId())]);
        break;
      case "append-anywhere":
        await this.#append([messageEntry(this.#newId(), this.#pickId(step.pick))]);
        break;
      case "append-orphan":
        // Sometimes the id of an entry that comes later, so that waiting entries attach.
        await this.#append([messageEntry(this.#newId(), `e${this.#lastNumber + 1 + (step.pick % 3)}`)]);
        break;
      case "append-again":
        await this.#append([messageEntry(this.#pickId(step.pick) ?? this.#newId(), this.#leafId(), "again")]);
        break;
      case "append-unknown":
        await this.#append([unknownEntry(this.#newId(), this.#pickId(step.pick), { value: step.pick })]);
        break;
      case "append-compaction":
        await this.#append([
          compactionEntry(this.#newId(), this.#leafId(), this.#pickId(step.pick), step.pick % 4 === 0),
        ]);
        break;
      case "append-unawaited":
        await this.#append([
          messageEntry(this.#newId(), this.#leafId()),
          messageEntry(this.#newId(), this.#pickId(step.pick)),
        ]);
        break;
      case "append-json":
        await this.#appendJson(step.pick);
        break;
      case "label":
        await this.#append([
          labelEntry(this.#newId(), this.#leafId(), this.#pickId(step.pick) ?? "nowhere", step.text),
        ]);
        break;
      case "name": {
        const { timestamp } = messageEntry("", null);
        const parentId = this.#leafId();
        await this.#append([{ type: "session_info", id: this.#newId(), parentId, timestamp, name: step.text }]);
        break;
      }
      case "append-leaf":
        await this.#append([leafEntry(this.#newId(), this.#leafId(), this.#pickId(step.pick))]);
        break;
      case "move":
        await this.#move(this.#pickId(step.pick));
        break;
      case "move-to-root":
        await this.#move(null);
        break;
      case "move-nowhere":
        await expect(this.#storage.setLeafId("nowhere")).rejects.toMatchObject({ code: "not_found" });
        break;
      case "reopen":
        this.#storage = await this.session.reopen();
        break;
    }
    await this.#expectAgreement();
  }

  async #append(entries: readonly SessionEntry[]): Promise<void> {
    await Promise.all(entries.map((entry) => this.#storage.appendEntry(entry)));
    this.log.push(...entries);
  }

  /** A batch with one text that is in the log already (when there is one) and two new ones. */
  async #appendJson(pickNumber: number): Promise<void> {
    const known = shownNodes(this.log)[pickNumber % Math.max(1, this.log.length)];
    const first = messageEntry(this.#newId(), this.#leafId());
    const fresh = [first, messageEntry(this.#newId(), first.id)];
    const entries = known === undefined ? fresh : [known, ...fresh];
    const written = await this.#storage.appendJson(entries.map((entry) => JSON.stringify(entry)));
    expect(written).toEqual(idsOf(fresh));
    this.log.push(...fresh);
  }

  async #move(targetId: string | null): Promise<void> {
    const leafId = this.#leafId();
    await this.#storage.setLeafId(targetId);
    const move = (await this.#storage.findEntries("leaf")).at(-1);
    expect(move).toMatchObject({ type: "leaf", parentId: leafId, targetId });
    expect(idsOf(this.log)).not.toContain(move?.id);
    if (move !== undefined) this.log.push(move);
  }

  async #expectAgreement(): Promise<void> {
    const storage = this.#storage;
    const nodes: TreeNode[] = this.log.map(entryToTreeNode);
    const shown = shownNodes(this.log);
    expect(await storage.getEntries()).toEqual(shown);
    expect(await storage.getLeafId()).toBe(leafAfter(nodes));
    expect(idsOf(await storage.getTips())).toEqual(tipsOf(nodes));
    expect(await storage.getSessionName()).toBe(nameOf(nodes));
    expect(idsOf(await storage.getChildren(null))).toEqual(childrenOf(nodes, null));
    for (const { id, type } of shown) {
      expect(await storage.getLabel(id)).toBe(labelOf(nodes, id));
      expect(await idsOrCode(storage.getPathToRoot(id))).toEqual(pathOf(nodes, id));
      if (type !== "leaf") expect(idsOf(await storage.getChildren(id))).toEqual(childrenOf(nodes, id));
      const first = shown.find((entry) => entry.id === id);
      expect(await storage.getEntryJson(id)).toBe(JSON.stringify(first));
    }
    const arrived = await storage.getEntries({ afterEntrySeq: 1, limit: 5 });
    expect(arrived).toEqual(shown.slice(1, 6));
    const rebuilt = new InMemorySessionStorage({ entries: this.log });
    expect(await readIndex(storage)).toEqual(await readIndex(rebuilt));
  }

  #leafId(): string | null {
    return leafAfter(this.log.map(entryToTreeNode));
  }

  #newId(): string {
    this.#lastNumber++;
    return `e${this.#lastNumber}`;
  }

  #pickId(pickNumber: number): string | null {
    return this.log[pickNumber % Math.max(1, this.log.length)]?.id ?? null;
  }
}

function labelEntry(id: string, parentId: string | null, targetId: string, label: string | undefined): SessionEntry {
  const { timestamp } = messageEntry("", null);
  const base = { type: "label" as const, id, parentId, timestamp, targetId };
  return label === undefined ? base : { ...base, label };
}

function leafEntry(id: string, parentId: string | null, targetId: string | null): SessionEntry {
  return { type: "leaf", id, parentId, timestamp: messageEntry("", null).timestamp, targetId };
}

function compactionEntry(id: string, parentId: string | null, keptId: string | null, hasTail: boolean): SessionEntry {
  const { timestamp } = messageEntry("", null);
  const kept = keptId === null ? {} : { firstKeptEntryId: keptId };
  const tail = hasTail ? { retainedTail: [{ role: "user", content: "kept" }] } : {};
  return { type: "compaction", id, parentId, timestamp, summary: "summary", tokensBefore: 1, ...kept, ...tail };
}
