import type { UnreadableCounts } from "@coppice/storage-yjs";

/** Something of a session that cannot be shown here, in words for people. Nothing of it is lost. */
export interface SessionProblem {
  readonly code: "wrong_key" | "version_mismatch" | "damaged";
  /** Records concerned. */
  readonly records: number;
  /** One sentence: what it is, and what to do. */
  readonly message: string;
}

/** What of a session's log cannot be shown; empty when all is well. */
export function describeProblems({ byProblem, damaged, newer }: UnreadableCounts): SessionProblem[] {
  const missingKey = (byProblem.other_key ?? 0) + (byProblem.no_key ?? 0);
  const problems: SessionProblem[] = [
    {
      code: "wrong_key",
      records: missingKey,
      message: `${count(missingKey)} sealed with a key this device does not have: connect it, so that the workspace's list can tell of new keys; until then they are kept as they are.`,
    },
    {
      code: "version_mismatch",
      records: newer,
      message: `${count(newer)} written by a newer version of Coppice: upgrade to read them; until then they are kept as they are.`,
    },
    {
      code: "damaged",
      records: damaged - missingKey,
      message: `${count(damaged - missingKey)} damaged or not of this session, and left out; the others are not touched.`,
    },
  ];
  return problems.filter(({ records }) => records > 0);
}

function count(records: number): string {
  return records === 1 ? "1 record is" : `${records} records are`;
}
