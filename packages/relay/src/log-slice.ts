import { SessionError, type UpdateLog } from "@coppice/core";
import { orderStructs, type ParsedUpdate, parseUpdate, type Struct, type UpdateLimits } from "@coppice/wire";
import { TurnBudget } from "./turn-budget.ts";

/** What is stored was checked when it came; only its shape is checked again, so that disk damage cannot pass as data. */
const storedLimits: UpdateLimits = {
  maxStructs: Number.MAX_SAFE_INTEGER,
  maxClients: Number.MAX_SAFE_INTEGER,
  maxRecordBytes: Number.MAX_SAFE_INTEGER,
};

/** Reading over this many unwanted updates is cheaper than seeking again. */
const maxReadOverUpdates = 32;

/** Parses a stored update; undefined when it is damaged. */
export function parseStoredUpdate(update: Uint8Array): ParsedUpdate | undefined {
  const parsed = parseUpdate(update, storedLimits);
  return parsed.ok ? parsed.value : undefined;
}

/** Part of what was asked of a log. */
export interface LogSlice {
  /** Causally ordered. */
  readonly structs: readonly Struct[];
  /** Index in the asked positions of the first one that is not in this slice. */
  readonly next: number;
}

/**
 * Reads what was stored at the given positions, from index `from` on, until at least `maxBytes` of wanted structs are
 * collected. The log is not kept open after that: a slow reader may come back for the next slice much later, and the log
 * may have been merged meanwhile. What was stored at a position stands in the first update at or behind it.
 *
 * @param seqs ascending; at every one something was stored. The index must name these positions until the reading ends
 * @param seqOf the position at which a struct was stored
 */
export async function readLogSlice(
  log: UpdateLog,
  seqs: readonly number[],
  from: number,
  maxBytes: number,
  seqOf: (struct: Struct) => number | undefined,
  isWanted: (struct: Struct) => boolean,
): Promise<LogSlice> {
  const budget = new TurnBudget();
  const structs: Struct[] = [];
  let bytes = 0;
  let next = from;
  while (next < seqs.length && bytes < maxBytes) {
    const start = next;
    for await (const { seq, update } of log.read((seqs[start] as number) - 1)) {
      const first = seqs[next] as number;
      if (first > seq) {
        if (first - seq > maxReadOverUpdates) break;
        continue;
      }
      while (next < seqs.length && (seqs[next] as number) <= seq) next += 1;
      const last = seqs[next - 1] as number;
      // In a merged update there is also what was stored before and behind the asked positions.
      const isAsked = (struct: Struct): boolean => {
        const storedAt = seqOf(struct);
        return storedAt !== undefined && storedAt >= first && storedAt <= last;
      };
      for (const struct of readAsked(update, seq, isAsked)) {
        if (!isWanted(struct)) continue;
        structs.push(struct);
        bytes += struct.encoded.length;
      }
      if (next === seqs.length || bytes >= maxBytes) break;
      await budget.spend();
    }
    if (next === start) throw notInLog(seqs[start]);
  }
  return { structs, next };
}

function readAsked(update: Uint8Array, seq: number, isAsked: (struct: Struct) => boolean): readonly Struct[] {
  const structs = parseStoredUpdate(update)?.structs.filter(isAsked);
  if (structs?.length === 0) throw notInLog(seq);
  if (structs?.length === 1) return structs;
  const ordered = structs === undefined ? undefined : orderStructs(structs);
  if (ordered?.ok !== true) throw new SessionError("storage", `update ${seq} of the log is damaged`);
  return ordered.value;
}

function notInLog(seq: number | undefined): SessionError {
  return new SessionError("storage", `what was stored at ${seq} is not in the log any more`);
}
