import { afterEach, describe, expect, it, vi } from "vitest";
import { platformNetworkSignal } from "../src/network-signal.ts";

describe("the platform's network signal", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("[SY12] calls when the network returns, and when a page is shown, restored or thawed; not when it is hidden", () => {
    const window = new EventTarget();
    const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    vi.stubGlobal("removeEventListener", window.removeEventListener.bind(window));
    vi.stubGlobal("document", document);
    const heard: string[] = [];
    let cause = "";
    const stop = platformNetworkSignal(() => heard.push(cause));
    const tell = (target: EventTarget, type: string, more: object = {}): void => {
      cause = `${type}${JSON.stringify(more)}`;
      Object.assign(document, more);
      target.dispatchEvent(Object.assign(new Event(type), more));
    };
    const tellAll = (): void => {
      tell(window, "online");
      tell(window, "pageshow", { persisted: false });
      tell(window, "pageshow", { persisted: true });
      tell(document, "visibilitychange", { visibilityState: "hidden" });
      tell(document, "visibilitychange", { visibilityState: "visible" });
      tell(document, "resume");
    };
    tellAll();
    expect(heard).toEqual([
      "online{}",
      'pageshow{"persisted":true}',
      'visibilitychange{"visibilityState":"visible"}',
      "resume{}",
    ]);
    stop();
    tellAll();
    expect(heard.length).toBe(4);
  });

  it("[SY12] is silent where nothing tells", () => {
    const stop = platformNetworkSignal(() => {
      throw new Error("nobody can have told");
    });
    stop();
  });
});
