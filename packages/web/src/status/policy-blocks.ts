let isBlocked = false;
const listeners = new Set<() => void>();

/** Notices when the page's own policy forbids a connection, which a socket reports as any other failure. */
export function watchPolicyBlocks(): void {
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
    if (effectiveDirective !== "connect-src" || isBlocked) return;
    isBlocked = true;
    for (const listener of listeners) listener();
  });
}

/** Whether a connection was forbidden since the page was loaded. */
export function isConnectionBlocked(): boolean {
  return isBlocked;
}

export function subscribeBlocked(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
