import type { BatchProgress, SessionStorage } from "@coppice/core";
import { describe, expect, test } from "vitest";
import {
  expectCode,
  idsOf,
  messageEntry,
  type SessionStorageFactory,
  withSession,
} from "./session-storage-under-test.ts";

/** Several steps of a batch. */
const lineCount = 500;

/** Lines that a batch may have read and not yet dealt with: a step, and the line that made it full. */
const maxReadAhead = 129;

/** The part of the contract about many entries at once. */
export function testBatches(factory: SessionStorageFactory): void {
  describe("batches", () => {
    test("[ST40] a batch writes every line in order, and says after each step how far it is", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const told: BatchProgress[] = [];
        const result = await storage.appendBatch(createLines(), { onProgress: (progress) => told.push(progress) });
        expect(result).toEqual({ lines: lineCount, written: lineCount, known: 0, refused: 0, isComplete: true });
        expect(told.length).toBeGreaterThan(2);
        expect(told.map(({ lines }) => lines)).toEqual(told.map(({ lines }) => lines).sort((a, b) => a - b));
        expect(told.every(({ lines, written, known }) => lines === written + known)).toBe(true);
        expect(told.at(-1)).toMatchObject({ lines: lineCount, written: lineCount });
        for (const reader of [storage, await reopen()]) {
          expect(idsOf(await reader.getEntries())).toEqual(createIds());
          expect(await reader.getLeafId()).toBe(`e${lineCount - 1}`);
        }
      }));

    test("[ST41] an aborted batch leaves its first lines, and the same batch again writes only the rest", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const signal = { aborted: false };
        const stopped = await storage.appendBatch(createLines(), {
          signal,
          onProgress: ({ lines }) => {
            signal.aborted = lines > lineCount / 4;
          },
        });
        expect(stopped).toMatchObject({ isComplete: false, known: 0, refused: 0 });
        expect(stopped.written).toBe(stopped.lines);
        expect(stopped.lines).toBeGreaterThan(lineCount / 4);
        expect(stopped.lines).toBeLessThan(lineCount);
        const reopened = await reopen();
        expect(idsOf(await reopened.getEntries())).toEqual(createIds().slice(0, stopped.lines));
        expect(await reopened.appendBatch(createLines())).toEqual({
          lines: lineCount,
          written: lineCount - stopped.lines,
          known: stopped.lines,
          refused: 0,
          isComplete: true,
        });
        expect(idsOf(await reopened.getEntries())).toEqual(createIds());
        expect(await reopened.appendBatch(createLines())).toMatchObject({ written: 0, known: lineCount });
        expect(await reopened.getEntries()).toHaveLength(lineCount);
      }));

    test("[ST41] a batch that is aborted before it begins writes nothing", () =>
      withSession(factory, async ({ storage }) => {
        const result = await storage.appendBatch(createLines(), { signal: { aborted: true } });
        expect(result).toEqual({ lines: 0, written: 0, known: 0, refused: 0, isComplete: false });
        expect(await storage.getEntries()).toEqual([]);
      }));

    test("[ST42] lines are read as they are needed, from an asynchronous source too, and a source that fails ends the batch", () =>
      withSession(factory, async ({ storage }) => {
        let [readCount, doneCount, furthest] = [0, 0, 0];
        const source = async function* (): AsyncGenerator<string> {
          for (const line of createLines()) {
            readCount++;
            furthest = Math.max(furthest, readCount - doneCount);
            if (readCount === lineCount) throw new Error("the source has failed");
            yield line;
          }
        };
        const onProgress = ({ lines }: BatchProgress): void => {
          doneCount = lines;
        };
        await expect(storage.appendBatch(source(), { onProgress })).rejects.toThrow("the source has failed");
        expect(furthest).toBeGreaterThan(1);
        expect(furthest).toBeLessThanOrEqual(maxReadAhead);
        const ids = idsOf(await storage.getEntries());
        expect(ids).toEqual(createIds().slice(0, ids.length));
        expect(ids.length).toBe(doneCount);
        expect(ids.length).toBeGreaterThan(lineCount / 2);
      }));

    test("[ST43] a bad line rejects with its number; what stands before it is written, nothing after it", () =>
      withSession(factory, async ({ storage }) => {
        for (const [bad, message] of [
          ["{torn", /^Line 201 is no entry: .*JSON/],
          ['{"type":"session","id":"s","parentId":null,"timestamp":"t"}', /^Line 201 /],
        ] as const) {
          if (bad.includes("session") && (await takesSessionType(factory))) continue;
          const lines = [...createLines()];
          lines.splice(200, 0, bad);
          const error = await expectCode(storage.appendBatch(lines), "invalid_entry");
          expect(error.message).toMatch(message);
          expect(idsOf(await storage.getEntries())).toEqual(createIds().slice(0, 200));
        }
      }));

    test("[ST43] a batch that is told what to do with bad lines leaves them out, in order, and goes on", () =>
      withSession(factory, async ({ storage }) => {
        const lines = [...createLines()];
        lines.splice(300, 0, "42");
        lines.splice(10, 0, "{torn", '{"type":"x"}');
        const refused: number[] = [];
        const result = await storage.appendBatch(lines, { onRefused: ({ line }) => refused.push(line) });
        expect(refused).toEqual([11, 12, 303]);
        expect(result).toEqual({ lines: lineCount + 3, written: lineCount, known: 0, refused: 3, isComplete: true });
        expect(idsOf(await storage.getEntries())).toEqual(createIds());
      }));

    test("[ST44] other appends come between the steps of a batch, and what they write stays where it came", () =>
      withSession(factory, async ({ storage }) => {
        const others: Promise<void>[] = [];
        await storage.appendBatch(createLines(), {
          onProgress: () => void others.push(storage.appendEntry(messageEntry(`other${others.length}`, null))),
        });
        await Promise.all(others);
        const ids = idsOf(await storage.getEntries());
        expect(ids.filter((id) => id.startsWith("e"))).toEqual(createIds());
        expect(ids.indexOf("other0")).toBeLessThan(ids.indexOf(`e${lineCount - 1}`));
        expect(ids.filter((id) => id.startsWith("other"))).toEqual(others.map((_, index) => `other${index}`));
      }));

    test("[ST44] a batch on a closed storage is refused as closed, and one that is under way ends there", () =>
      withSession(factory, async ({ storage, reopen }) => {
        let closed: Promise<void> | undefined;
        await expectCode(
          storage.appendBatch(createLines(), {
            onProgress: () => {
              closed ??= storage.close();
            },
          }),
          "closed",
        );
        await closed;
        await expectCode(storage.appendBatch([]), "closed");
        const ids = idsOf(await (await reopen()).getEntries());
        expect(ids.length).toBeGreaterThan(0);
        expect(ids).toEqual(createIds().slice(0, ids.length));
      }));
  });
}

function createIds(): string[] {
  return Array.from({ length: lineCount }, (_, index) => `e${index}`);
}

function* createLines(): Generator<string> {
  for (let index = 0; index < lineCount; index++) {
    yield JSON.stringify(messageEntry(`e${index}`, index === 0 ? null : `e${index - 1}`));
  }
}

/** In memory an entry of the header's type is one of an unknown type; where headers are records it is refused. */
async function takesSessionType(factory: SessionStorageFactory): Promise<boolean> {
  let isTaken = true;
  await withSession(factory, async ({ storage }: { storage: SessionStorage }) => {
    isTaken = await storage.appendJson(['{"type":"session","id":"s","parentId":null,"timestamp":"t"}']).then(
      () => true,
      () => false,
    );
  });
  return isTaken;
}
