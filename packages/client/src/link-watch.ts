/** What a link knows of its connection; times in ms of one clock. */
export interface LinkState {
  readonly now: number;
  /** When bytes last came, or a message still under way was last seen to grow. */
  readonly heardAt: number;
  readonly openedAt: number;
  /** True once the relay has said what it holds on this connection. */
  readonly hasAnswered: boolean;
  /** Connections that ended before this one since everything had last arrived. */
  readonly failures: number;
  /** When records waiting for an acknowledgement last got closer to it, or none waited. */
  readonly progressAt: number;
  /** When a sign of life was last asked for. */
  readonly probedAt: number;
  /** When records were last sent again. */
  readonly resentAt: number;
  /** When both sides were last compared. */
  readonly askedAt: number;
  /** When a digest was sent that is not answered; undefined: none is out. */
  readonly digestAskedAt: number | undefined;
  /** Durable records without an acknowledgement. */
  readonly pending: number;
  /** True while bytes wait in the socket for the network, or a large message is on its way to us. */
  readonly isBusy: boolean;
  /** True when the socket counts bytes, so that a message under way is not taken for silence. */
  readonly countsBytes: boolean;
  /** True while records are held back whose predecessors have not come. */
  readonly isWaiting: boolean;
  /** Questions since something last arrived. */
  readonly fruitlessQuestions: number;
}

/** Times a link goes by, in ms. */
export interface LinkWatchTimings {
  /** After this long without a sign, ask; after twice as long, give up. */
  readonly resendAfterMs: number;
  readonly resyncIntervalMs: number;
}

/** What to do about a connection now. */
export type LinkVerdict = "give_up" | "resend" | "ask_missing" | "compare" | "probe" | "nothing";

/** A relay sends something every 20 s by itself; our own questions queue behind what we send. */
const maxSilenceWhileBusyMs = 25_000;
/** The first answer is waited for at most two to the power of so many times as long. */
const maxPatience = 3;
/** Where nobody counts bytes, one message may take this long: a chunk of 256 KiB at 70 kbit/s. */
const maxSilenceUncountedMs = 30_000;

/**
 * Judges a connection that is open: whether the relay is still there and takes what it is sent (SPEC CL6, CL12). A
 * large record on a slow line is no silence: as long as bytes move, nothing is sent twice and nothing is given up.
 */
export function judgeLink(state: LinkState, { resendAfterMs, resyncIntervalMs }: LinkWatchTimings): LinkVerdict {
  const { now, pending, isBusy, countsBytes } = state;
  // The first answer is small and comes before everything else; a proxy may answer pings for a relay that does not. One
  // that has to read a huge room first is given more time with each attempt.
  const answerTimeoutMs = 2 * resendAfterMs * 2 ** Math.min(state.failures, maxPatience);
  if (!state.hasAnswered && now - state.openedAt > answerTimeoutMs) return "give_up";
  const silentMs = now - state.heardAt;
  const maxSilentMs = !countsBytes ? maxSilenceUncountedMs : isBusy ? maxSilenceWhileBusyMs : 2 * resendAfterMs;
  if (silentMs > maxSilentMs) return "give_up";
  if (isBusy) return "nothing";
  const stuckMs = pending > 0 ? now - state.progressAt : 0;
  if (stuckMs > 2 * resendAfterMs) return "give_up";
  if (stuckMs > resendAfterMs && now - state.resentAt > resendAfterMs) return "resend";
  if (state.digestAskedAt !== undefined && now - state.digestAskedAt > 2 * resendAfterMs) return "give_up";
  const askedMs = now - state.askedAt;
  if (state.isWaiting && askedMs > askAgainAfterMs(state.fruitlessQuestions, resendAfterMs, resyncIntervalMs))
    return "ask_missing";
  if (askedMs > resyncIntervalMs) return "compare";
  // Where the question is a message, the relay's own beat has to be missing before it is worth one.
  const probeAfterMs = countsBytes ? resendAfterMs : maxSilenceUncountedMs - resendAfterMs;
  if (silentMs > probeAfterMs && now - state.probedAt > resendAfterMs) return "probe";
  return "nothing";
}

/** What is missing may be on no relay: each fruitless question doubles the wait for the next, up to the quiet interval. */
function askAgainAfterMs(fruitlessQuestions: number, resendAfterMs: number, resyncIntervalMs: number): number {
  return Math.min((resendAfterMs / 4) * 2 ** fruitlessQuestions, resyncIntervalMs);
}
