/** What one writer said of a session, and whether it knows that this is on its disk. */
interface Claim {
  readonly value: string | boolean;
  isResolved: boolean;
}

/**
 * What may be true of one field of each session when all is over: of every writer the last thing it said that is on its
 * disk, or something it said later of which it never heard. What a writer said before that is overruled by itself.
 */
export class FieldClaims {
  readonly #said = new Set<string | boolean>();
  readonly #claimsByWriter = new Map<string, Claim[]>();

  /** A writer says something; the function it returns is called when that is on its disk. */
  add(sessionId: string, writer: string, value: string | boolean): () => void {
    const key = JSON.stringify([sessionId, writer]);
    const claims = this.#claimsByWriter.get(key) ?? [];
    this.#claimsByWriter.set(key, claims);
    const claim = { value, isResolved: false };
    claims.push(claim);
    this.#said.add(value);
    return () => {
      claim.isResolved = true;
      const at = claims.indexOf(claim);
      if (at > 0) claims.splice(0, at);
    };
  }

  /** Whether anybody ever said it, of any session: a fork begins with what its source was called. */
  wasSaid(value: string | boolean | undefined): boolean {
    return value !== undefined && this.#said.has(value);
  }

  /** Whether a value may be the one; `initial` while nobody is known to have said anything. */
  allows(sessionId: string, value: string | boolean | undefined, initial: string | boolean | undefined): boolean {
    const ofSession = [...this.#claimsByWriter].filter(([key]) => (JSON.parse(key) as string[])[0] === sessionId);
    const claims = ofSession.flatMap(([, each]) => each);
    if (claims.some((claim) => claim.value === value)) return true;
    return value === initial && !claims.some(({ isResolved }) => isResolved);
  }
}
