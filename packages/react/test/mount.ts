import "./dom.ts";
import type { Workspace } from "@coppice/client";
import { createElement, type ReactNode, StrictMode, useEffect } from "react";
import { createRoot, type Root } from "react-dom/client";
import { onTestFinished } from "vitest";
import { WorkspaceProvider } from "../src/index.ts";

/** What a component has got from its hooks: a value for each commit. */
export class Watch<Value> {
  readonly values: Value[] = [];
  readonly #checks = new Set<() => void>();

  get last(): Value {
    return this.values.at(-1) as Value;
  }

  /** Commits so far, those of StrictMode's second mount included. */
  get commits(): number {
    return this.values.length;
  }

  take(value: Value): void {
    this.values.push(value);
    for (const check of [...this.#checks]) check();
  }

  /** Settles with the first value for which it is so, the present one included. */
  until(isSo: (value: Value) => boolean): Promise<Value> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.values.length === 0 || !isSo(this.last)) return;
        this.#checks.delete(check);
        resolve(this.last);
      };
      this.#checks.add(check);
      check();
    });
  }
}

/** A component that uses hooks and shows what they give to a watch. */
export function Probe<Value>({ use, watch }: { use: () => Value; watch: Watch<Value> }): null {
  const value = use();
  useEffect(() => watch.take(value));
  return null;
}

export interface Mounted {
  readonly container: HTMLElement;
  render(element: ReactNode): void;
  unmount(): void;
}

/** Renders in StrictMode, in a root of its own. */
export function mount(element: ReactNode): Mounted {
  const container = document.createElement("div");
  const root: Root = createRoot(container);
  const render = (next: ReactNode): void => root.render(createElement(StrictMode, null, next));
  let isMounted = true;
  const unmount = (): void => {
    if (isMounted) root.unmount();
    isMounted = false;
  };
  onTestFinished(unmount);
  render(element);
  return { container, render, unmount };
}

/** Mounts a component that uses these hooks below a provider of the workspace. */
export function watchHooks<Value>(
  workspace: Workspace,
  use: () => Value,
  options: { keepOpenMs?: number } = {},
): Watch<Value> & { readonly mounted: Mounted } {
  const watch = new Watch<Value>();
  const probe = createElement(Probe<Value>, { use, watch });
  return Object.assign(watch, { mounted: mount(createElement(WorkspaceProvider, { workspace, ...options }, probe)) });
}

/** Settles when an element looks as it is to. */
export function untilShown(container: HTMLElement, isShown: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isShown()) return;
      observer.disconnect();
      resolve();
    };
    const observer = new window.MutationObserver(look);
    observer.observe(container, { childList: true, subtree: true, characterData: true });
    look();
  });
}
