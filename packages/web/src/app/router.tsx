import { type ComponentPropsWithRef, type MouseEvent, type ReactNode, useMemo, useSyncExternalStore } from "react";
import { parseRoute, type Route } from "./route.ts";

const moved = "coppice:moved";

/** Goes to a path of the app (with its query). `replace`: in place of the entry in the history, not after it. */
export function navigate(path: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace === true) history.replaceState(history.state, "", path);
  else history.pushState(null, "", path);
  window.dispatchEvent(new Event(moved));
}

/** Where the app is; the same object until the path changes. */
export function useRoute(): Route {
  const pathname = useSyncExternalStore(subscribe, () => location.pathname);
  return useMemo(() => parseRoute(pathname), [pathname]);
}

/** A parameter of the address's query, as in `?entry=…`; undefined when it is not there. */
export function useSearchParam(name: string): string | undefined {
  const search = useSyncExternalStore(subscribe, () => location.search);
  return new URLSearchParams(search).get(name) ?? undefined;
}

/** A link within the app: an ordinary one for whoever opens it in a new tab, without loading the page anew. */
export function Link({ to, onClick, ...props }: { to: string } & ComponentPropsWithRef<"a">): ReactNode {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...props} href={to} onClick={follow} />;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("popstate", listener);
  window.addEventListener(moved, listener);
  return () => {
    window.removeEventListener("popstate", listener);
    window.removeEventListener(moved, listener);
  };
}
