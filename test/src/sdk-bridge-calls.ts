/** What a test asks of an agent of pi's SDK on a session of a workspace. */
export interface SdkBridgeCalls {
  /** Opens the workspace in `folder` as this device, makes the session when it is not listed, and starts an agent on it. */
  open: {
    ask: { folder: string; deviceId: string; sessionId: string; relay?: string };
    answer: SdkBridgeState;
  };
  /** One turn; settles when the agent has settled. */
  prompt: { ask: { text: string }; answer: SdkBridgeState };
  /** As the user does in pi's tree. */
  navigate: { ask: { entryId: string; summarize: boolean }; answer: SdkBridgeState };
  label: { ask: { entryId: string; label: string }; answer: SdkBridgeState };
  /** Waits until the relay has everything. */
  send: { ask: null; answer: null };
  /** Waits until this entry of another device is in the workspace. */
  receive: { ask: { entryId: string }; answer: SdkBridgeState };
  /** Takes the session away below the agent; what the next turns come to, and what `settled` says. */
  breakSession: { ask: null; answer: { told: string[]; settled: string; turn: string; kept: number } };
  /** What the methods that would make another session of the manager say. */
  callRefused: { ask: null; answer: string[] };
  close: { ask: null; answer: null };
}

/** Both sides after a call, as JSON texts in their order. */
export interface SdkBridgeState {
  /** Of pi's manager. */
  readonly piEntries: readonly string[];
  readonly piLeafId: string | null;
  /** Of the workspace. */
  readonly entries: readonly string[];
  readonly leafId: string | null;
  /** What the model was asked last, without the times of messages. */
  readonly asked: readonly { role: string; content: unknown }[];
}
