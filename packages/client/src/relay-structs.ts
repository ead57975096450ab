import type { Struct } from "@coppice/wire";
import * as Y from "yjs";
import type { Coverage } from "./coverage.ts";
import { type ClockVector, isSameRecord, readHeldRecord } from "./held-records.ts";

/** What records from the relay mean for the document. */
export interface JudgedStructs {
  /** Those that may be put into the document. */
  readonly fitting: readonly Struct[];
  /** Whether some were left out because nobody knows yet that the relay's records before them are ours. */
  readonly isUnsure: boolean;
  /** Whether the coverage has risen. */
  readonly isNews: boolean;
  /** First clock, by client id, at which the relay has another record than we do. */
  readonly contested: ClockVector;
}

/**
 * Compares records from the relay with those held here, and raises the coverage as far as they are the same. Yjs itself
 * takes a client id and a clock for the whole identity of a record: it would put somebody else's later records of an id
 * behind our own earlier ones, and from then on no two devices would have the same log (SPEC CL41).
 *
 * @param structs clocks of one client ascending, as `parseUpdate` gives them
 */
export function judgeStructs(structs: readonly Struct[], doc: Y.Doc, coverage: Coverage): JudgedStructs {
  const contested = new Map<number, number>();
  const fitting: Struct[] = [];
  let isUnsure = false;
  let isNews = false;
  for (const struct of structs) {
    const { client, clock } = struct;
    const heldClock = Y.getState(doc.store, client);
    if (clock < heldClock) {
      const own = readHeldRecord(doc, client, clock);
      if (own !== undefined && !isSameRecord(own, struct)) {
        if (!contested.has(client)) contested.set(client, clock);
        continue;
      }
    } else if (contested.has(client)) {
      continue;
    } else if (coverage.get(client) < heldClock) {
      isUnsure = true;
      continue;
    } else fitting.push(struct);
    if (coverage.get(client) === clock && coverage.raise(client, clock + 1)) isNews = true;
  }
  return { fitting, isUnsure, isNews, contested };
}
