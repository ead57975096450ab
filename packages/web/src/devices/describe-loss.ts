/** What is in this browser and, as far as it knows, nowhere else. */
export interface UnsentContent {
  /** Records of open sessions and of the list. */
  readonly unsent: number;
  /** Sessions that may have some. */
  readonly unsentSessions: number;
  readonly hasRelay: boolean;
}

/** What would be lost with this browser's copy; undefined: nothing. */
export function describeLoss({ unsent, unsentSessions, hasRelay }: UnsentContent): string | undefined {
  if (!hasRelay) return "This workspace has no relay: what is in this browser may be nowhere else, and is lost.";
  if (unsent > 0)
    return `${unsent.toLocaleString("en")} ${unsent === 1 ? "entry has" : "entries have"} not reached the relay, and would be lost.`;
  if (unsentSessions === 0) return undefined;
  return `${unsentSessions === 1 ? "A session" : `${unsentSessions} sessions`} may have entries that have not reached the relay, which would be lost.`;
}
