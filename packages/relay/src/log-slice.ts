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
 * Reads stored updates at the given positions, from index `from` on, until at least `maxBytes` of wanted structs are
 * collected. The log is not kept open after that: a slow reader may come back for the next slice much later.
 *
 * @param seqs ascending; every one is in the log
 */
export async function readLogSlice(
  log: UpdateLog,
  seqs: readonly number[],
  from: number,
  maxBytes: number,
  isWanted: (struct: Struct, seq: number) => boolean,
): Promise<LogSlice> {
  const budget = new TurnBudget();
  const structs: Struct[] = [];
  let bytes = 0;
  let next = from;
  while (next < seqs.length && bytes < maxBytes) {
    const start = next;
    for await (const { seq, update } of log.read((seqs[start] as number) - 1)) {
      const wantedSeq = seqs[next] as number;
      if (wantedSeq > seq) {
        if (wantedSeq - seq > maxReadOverUpdates) break;
        continue;
      }
      if (wantedSeq < seq) break;
      next += 1;
      for (const struct of readWanted(update, seq, isWanted)) {
        structs.push(struct);
        bytes += struct.encoded.length;
      }
      if (next === seqs.length || bytes >= maxBytes) break;
      await budget.spend();
    }
    if (next === start) throw new SessionError("storage", `update ${seqs[start]} is not in the log any more`);
  }
  return { structs, next };
}

function readWanted(
  update: Uint8Array,
  seq: number,
  isWanted: (struct: Struct, seq: number) => boolean,
): readonly Struct[] {
  const structs = parseStoredUpdate(update)?.structs.filter((struct) => isWanted(struct, seq));
  if (structs?.length === 1) return structs;
  const ordered = structs === undefined ? undefined : orderStructs(structs);
  if (ordered?.ok !== true) throw new SessionError("storage", `update ${seq} of the log is damaged`);
  return ordered.value;
}
