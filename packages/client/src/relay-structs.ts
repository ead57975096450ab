import type { Struct, StructId } from "@coppice/wire";
import * as Y from "yjs";
import type { Coverage } from "./coverage.ts";
import { type ClockVector, isSameBytes, isSameRecord, readHeldRecord } from "./held-records.ts";

/** What records from the relay mean for the document. */
export interface JudgedStructs {
  /** Those that may be put into the document. */
  readonly fitting: readonly Struct[];
  /** Whether some were left out because nobody knows yet that the relay's records before or under them are ours. */
  readonly isUnsure: boolean;
  /** Whether the coverage has risen. */
  readonly isNews: boolean;
  /** First clock, by client id, at which the relay has another record than we do. */
  readonly contested: ClockVector;
  /** Client ids whose covered records turn out not to be the relay's. They are not covered any more. */
  readonly disproved: readonly number[];
}

/** What the relay has said of a client id of which it holds more than we do. */
export interface ExpectedCheck {
  /** The check is of so many records. */
  readonly clock: number;
  readonly check: Uint8Array;
}

/**
 * Compares records from the relay with those held here, and raises the coverage as far as they are the same. Yjs itself
 * takes a client id and a clock for the whole identity of a record: it would put somebody else's later records of an id
 * behind our own earlier ones, and from then on no two devices would have the same log (SPEC CL41). The same goes for
 * records of other ids that stand on such a place: taken now, they would have to give way together with what is ours,
 * and be written again before the entries that the relay has there arrive.
 *
 * @param structs clocks of one client ascending, as `parseUpdate` gives them
 * @param expected by client id; looked at when the records it speaks of are covered
 */
export function judgeStructs(
  structs: readonly Struct[],
  doc: Y.Doc,
  coverage: Coverage,
  expected: ReadonlyMap<number, ExpectedCheck> = new Map(),
): JudgedStructs {
  const contested = new Map<number, number>();
  const news: Struct[] = [];
  const disproved: number[] = [];
  let isNews = false;
  const cover = (struct: Struct): void => {
    if (!coverage.raiseBy(struct, doc)) return;
    isNews = true;
    const { client, clock } = struct;
    const ours = coverage.checkOf(client);
    const theirs = expected.get(client);
    if (theirs?.clock === clock + 1 && ours && !isSameBytes(ours, theirs.check)) disproved.push(client);
  };
  for (const struct of structs) {
    const { client, clock } = struct;
    const own = readHeldRecord(doc, client, clock);
    if (clock >= Y.getState(doc.store, client)) news.push(struct);
    else if (own === undefined || isSameRecord(own, struct)) cover(struct);
    else if (!contested.has(client)) contested.set(client, clock);
  }
  // Only now, because updates name the clients in any order, and what is compared above may stand under these.
  const leftOutFrom = findDoubtful(news, doc, coverage);
  const fitting = news.filter(({ client, clock }) => !contested.has(client) && !isFrom(leftOutFrom, { client, clock }));
  for (const struct of fitting) cover(struct);
  for (const client of disproved) coverage.lower(client, 0);
  return { fitting, isUnsure: leftOutFrom.size > 0 || disproved.length > 0, isNews, contested, disproved };
}

/** First clock, by client id, of records that stand behind or on places which are held here and not compared. */
function findDoubtful(structs: readonly Struct[], doc: Y.Doc, coverage: Coverage): ClockVector {
  const doubtfulFrom = new Map<number, number>();
  const isUncompared = ({ client, clock }: StructId): boolean =>
    clock >= coverage.get(client) && clock < Y.getState(doc.store, client);
  // Again as long as some are found: they may stand under others that were looked at before them.
  for (let hasFound = true; hasFound; ) {
    hasFound = false;
    for (const { client, clock, origin } of structs) {
      if (isFrom(doubtfulFrom, { client, clock })) continue;
      const hasDoubt =
        coverage.get(client) < Y.getState(doc.store, client) ||
        (origin !== null && (isUncompared(origin) || isFrom(doubtfulFrom, origin)));
      if (!hasDoubt) continue;
      doubtfulFrom.set(client, clock);
      hasFound = true;
    }
  }
  return doubtfulFrom;
}

function isFrom(clocks: ClockVector, { client, clock }: StructId): boolean {
  return clock >= (clocks.get(client) ?? Number.POSITIVE_INFINITY);
}
