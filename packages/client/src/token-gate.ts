import { SessionError } from "@coppice/core";
import { sleepUnlessAborted } from "./abortable-sleep.ts";
import { messageOf } from "./error-message.ts";
import { pickSignInDelayMs, type RandomSource } from "./retry-delay.ts";

/** Gives the token for the next connection. It may take its time, reject, and give another one each time. */
export type TokenSource = () => Promise<string>;

/** What a gate stands on. */
export interface TokenGateOptions {
  /** Absent: connections are made without a token. */
  readonly token?: TokenSource | undefined;
  readonly random: RandomSource;
  /** How long the source may take, in ms. */
  readonly timeoutMs: number;
}

/** Leave for one attempt to connect. */
export interface Pass {
  /** Undefined where there is no source. */
  readonly token: string | undefined;
  /** Which refusals it came after. */
  readonly generation: number;
}

/** Refusals further apart than this are not of one kind: a token that lives for minutes expires again and again, in ms. */
const forgetRefusalsAfterMs = 60_000;

/**
 * Where every connection of a workspace gets its token, fetched anew for each (those that ask at one moment share one).
 * Once a relay has refused one, the connections go one at a time, further and further apart, until one gets through:
 * a workspace of many sessions asks no more often than one session would. SPEC SY13, SY14.
 */
export class TokenGate {
  readonly #options: TokenGateOptions;
  #fetching: Promise<string> | undefined;
  #isRefused = false;
  #refusals = 0;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #generation = 0;
  #nextTurnAtMs = 0;
  /** One for each attempt that waits for its turn: aborted when it need not any more. */
  readonly #waiting = new Set<AbortController>();

  constructor(options: TokenGateOptions) {
    this.#options = options;
  }

  /** Settles when an attempt may be made. Rejects `unknown` when the source rejects or does not answer in time. */
  async enter(signal: AbortSignal): Promise<Pass> {
    if (this.#isRefused) await this.#waitForTurn(signal);
    const generation = this.#generation;
    return { token: signal.aborted ? undefined : await this.#fetchToken(), generation };
  }

  /** The relay refused the token of a pass. */
  noteRefusal({ generation }: Pass): void {
    // Many connections are refused for one token.
    if (generation < this.#generation) return;
    const nowMs = performance.now();
    this.#refusals = nowMs - this.#refusedAtMs > forgetRefusalsAfterMs && !this.#isRefused ? 1 : this.#refusals + 1;
    this.#refusedAtMs = nowMs;
    this.#generation += 1;
    this.#isRefused = true;
    const delayMs = pickSignInDelayMs(this.#refusals, this.#options.random);
    this.#nextTurnAtMs = Math.max(this.#nextTurnAtMs, nowMs + delayMs);
  }

  /** Nobody needs to wait for a turn until the next refusal: a connection got through, or somebody asked for an attempt. */
  open(): void {
    if (!this.#isRefused) return;
    this.#isRefused = false;
    this.#nextTurnAtMs = 0;
    for (const waiting of this.#waiting) waiting.abort();
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const nowMs = performance.now();
    const turnAtMs = Math.max(nowMs, this.#nextTurnAtMs);
    this.#nextTurnAtMs = turnAtMs + pickSignInDelayMs(Math.max(2, this.#refusals), this.#options.random);
    const waiting = new AbortController();
    const stop = (): void => waiting.abort();
    this.#waiting.add(waiting);
    signal.addEventListener("abort", stop);
    await sleepUnlessAborted(turnAtMs - nowMs, waiting.signal);
    signal.removeEventListener("abort", stop);
    this.#waiting.delete(waiting);
  }

  async #fetchToken(): Promise<string | undefined> {
    const { token, timeoutMs } = this.#options;
    if (token === undefined) return undefined;
    // A source that throws is like one that rejects.
    const fetching = this.#fetching ?? Promise.resolve().then(token);
    this.#fetching = fetching;
    const timeout = new AbortController();
    try {
      const fetched = await Promise.race([
        fetching,
        sleepUnlessAborted(timeoutMs, timeout.signal).then(() => {
          throw new SessionError("unknown", `the token source did not answer within ${timeoutMs / 1_000} s`);
        }),
      ]);
      if (typeof fetched !== "string" || fetched === "") throw new SessionError("unknown", "it gave no text");
      return fetched;
    } catch (error) {
      throw new SessionError("unknown", `no token to connect with: ${messageOf(error)}`, { cause: error });
    } finally {
      timeout.abort();
      // One that hangs is not waited for again.
      if (this.#fetching === fetching) this.#fetching = undefined;
    }
  }
}
