import { type EntryRecord, jsonToRecord } from "./entry-record.ts";
import { SessionError } from "./errors.ts";
import type { BatchOptions, BatchResult } from "./session-storage.ts";
import { Slices } from "./slices.ts";

/** Text of one step in UTF-16 units, so that a step is one short stretch of work and one transaction of a document. */
const MAX_STEP_CHARS = 256 * 1024;

/** Entries of one step: sealing so many short ones takes some 20 ms where it is slowest. */
const MAX_STEP_LINES = 128;

/** A line with its number from 1, and what it says or why it says nothing. */
type NumberedLine = { readonly line: number } & ({ readonly record: EntryRecord } | { readonly error: SessionError });

/**
 * Appends lines a step after the other, each durable before the next is read, so that memory stays bounded and other
 * appends come between. `append` writes all of the records that are not there yet or, rejecting with `invalid_entry`,
 * none, and gives the number written. What is promised to callers stands at `SessionStorage.appendBatch`.
 */
export async function appendInSteps(
  append: (records: readonly EntryRecord[]) => Promise<number>,
  lines: Iterable<string> | AsyncIterable<string>,
  options: BatchOptions = {},
): Promise<BatchResult> {
  const { signal, onProgress, onRefused } = options;
  const progress = { lines: 0, written: 0, known: 0, refused: 0 };
  const slices = new Slices();

  const refuse = (numbered: NumberedLine, error: SessionError): void => {
    const { line } = numbered;
    if (onRefused === undefined) {
      const reason = "error" in numbered ? error.message : `cannot be kept: ${error.message}`;
      throw new SessionError("invalid_entry", `Line ${line} ${reason}`, { cause: error });
    }
    onRefused({ line, reason: error.message });
    progress.refused++;
    progress.lines = line;
  };
  const appendRecords = async (step: readonly NumberedLine[], records: readonly EntryRecord[]): Promise<void> => {
    const [first] = step;
    if (first === undefined) return;
    try {
      const written = await append(records);
      progress.written += written;
      progress.known += records.length - written;
      progress.lines = step.at(-1)?.line ?? progress.lines;
    } catch (error) {
      if (!(error instanceof SessionError) || error.code !== "invalid_entry") throw error;
      if (step.length === 1) return refuse(first, error);
      // Nothing of it was written; halving finds the line.
      const half = step.length >> 1;
      await appendRecords(step.slice(0, half), records.slice(0, half));
      await appendRecords(step.slice(half), records.slice(half));
    }
  };
  const appendStep = async (step: readonly NumberedLine[]): Promise<void> => {
    if (step.length === 0) return;
    let [good, records]: [NumberedLine[], EntryRecord[]] = [[], []];
    for (const numbered of step) {
      if ("record" in numbered) {
        good.push(numbered);
        records.push(numbered.record);
        continue;
      }
      await appendRecords(good, records);
      [good, records] = [[], []];
      refuse(numbered, numbered.error);
    }
    await appendRecords(good, records);
    onProgress?.({ ...progress });
    if (slices.isOver) await slices.next();
  };

  let step: NumberedLine[] = [];
  let chars = 0;
  let line = 0;
  for await (const json of lines) {
    if (signal?.aborted) return { ...progress, isComplete: false };
    if (chars + json.length > MAX_STEP_CHARS || step.length === MAX_STEP_LINES) {
      await appendStep(step);
      [step, chars] = [[], 0];
      if (signal?.aborted) return { ...progress, isComplete: false };
    }
    step.push(readLine(json, ++line));
    chars += json.length;
  }
  if (signal?.aborted) return { ...progress, isComplete: step.length === 0 };
  await appendStep(step);
  return { ...progress, isComplete: true };
}

function readLine(json: string, line: number): NumberedLine {
  try {
    return { line, record: jsonToRecord(json, "is no entry") };
  } catch (error) {
    if (error instanceof SessionError) return { line, error };
    throw error;
  }
}
