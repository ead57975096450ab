/**
 * Calls the listener whenever this machine gets a network; returns the function that stops it. A browser tells (its
 * `online` event); where nothing tells, it never calls, and the app may call `resync()`.
 */
export type NetworkSignal = (listener: () => void) => () => void;

/** What the platform offers. */
export const platformNetworkSignal: NetworkSignal = (listener) => {
  const host = globalThis as Partial<Pick<EventTarget, "addEventListener" | "removeEventListener">>;
  host.addEventListener?.("online", listener);
  return () => host.removeEventListener?.("online", listener);
};
