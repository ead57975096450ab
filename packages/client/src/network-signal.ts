/**
 * Calls the listener whenever this machine gets a network, or wakes up; returns the function that stops it. Where
 * nothing tells, it never calls, and the app may call `resync()`.
 */
export type NetworkSignal = (listener: () => void) => () => void;

type Target = Pick<EventTarget, "addEventListener" | "removeEventListener">;

/**
 * What a browser tells: `online`; a page that is shown again, comes out of the cache of earlier pages, or is thawed. A
 * page that was frozen does not know that its sockets have long been closed (Page Lifecycle, HTML). Never calls elsewhere.
 */
export const platformNetworkSignal: NetworkSignal = (listener) => {
  const host = globalThis as Partial<Target> & { readonly document?: Target & { readonly visibilityState: string } };
  const { document } = host;
  const onShown = (): void => {
    if (document?.visibilityState === "visible") listener();
  };
  const registrations = [
    [host, "online", listener],
    [host, "pageshow", (event: Event) => (event as PageTransitionEvent).persisted && listener()],
    [document, "visibilitychange", onShown],
    [document, "resume", listener],
  ] as const;
  for (const [target, type, call] of registrations) target?.addEventListener?.(type, call);
  return () => {
    for (const [target, type, call] of registrations) target?.removeEventListener?.(type, call);
  };
};
