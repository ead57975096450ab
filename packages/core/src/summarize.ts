import type { AgentMessageLike } from "./entries.ts";

/** What is to be summarised, and what for. */
export interface SummaryRequest {
  /**
   * `history`: the conversation up to the messages that are kept. `turn-prefix`: the beginning of a turn whose end is
   * kept. `branch`: a branch that is left.
   */
  readonly kind: "history" | "turn-prefix" | "branch";
  /** Oldest first, never empty; application roles included. */
  readonly messages: readonly AgentMessageLike[];
  /** Of `history`: the summary so far, to be updated rather than repeated. */
  readonly previousSummary?: string;
  /** What the caller wants the summary to attend to. */
  readonly instructions?: string;
}

/** Has a model (or anything else) write a summary. */
export type Summarize = (request: SummaryRequest) => Promise<string>;
