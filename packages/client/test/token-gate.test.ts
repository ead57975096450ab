import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Pass, TokenGate } from "../src/token-gate.ts";

/** A signal for each: Node warns when more than ten wait for one. */
const never = (): AbortSignal => new AbortController().signal;

describe("TokenGate", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const makeGate = (token?: () => Promise<string>): TokenGate =>
    new TokenGate({ token, random: () => 0, timeoutMs: 9_000 });

  it("[SY13] each connection gets a token of its own, those of one moment share one", async () => {
    let given = 0;
    const gate = makeGate(async () => `token ${++given}`);
    const passes = await Promise.all([gate.enter(never()), gate.enter(never())]);
    expect(passes.map(({ token }) => token)).toEqual(["token 1", "token 1"]);
    expect((await gate.enter(never())).token).toBe("token 2");
    expect((await makeGate().enter(never())).token).toBeUndefined();
  });

  it("[SY13] a source that throws, rejects, hangs or gives nothing is one failed attempt each, and asked again", async () => {
    const sources: (() => Promise<string>)[] = [
      () => {
        throw new Error("thrown");
      },
      () => Promise.reject(new Error("rejected")),
      () => new Promise(() => undefined),
      async () => "",
      async () => "good",
    ];
    const gate = makeGate(() => (sources.shift() ?? (async () => "late"))());
    await expect(gate.enter(never())).rejects.toThrow("no token to connect with: thrown");
    await expect(gate.enter(never())).rejects.toThrow("rejected");
    const hanging = expect(gate.enter(never())).rejects.toThrow("did not answer within 9 s");
    await vi.advanceTimersByTimeAsync(9_000);
    await hanging;
    await expect(gate.enter(never())).rejects.toThrow("it gave no text");
    expect((await gate.enter(never())).token).toBe("good");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("[SY14] F90: many connections with a refused token make at most 10 attempts in a minute, until one gets through", async () => {
    const gate = makeGate(async () => "expired");
    const firsts = await Promise.all(Array.from({ length: 20 }, () => gate.enter(never())));
    for (const pass of firsts) gate.noteRefusal(pass);
    const startedMs = performance.now();
    const attempts: number[] = [];
    let isExpired = true;
    let through = 0;
    const connect = async (): Promise<void> => {
      for (;;) {
        const pass: Pass = await gate.enter(never());
        attempts.push(performance.now() - startedMs);
        if (!isExpired) break;
        gate.noteRefusal(pass);
      }
      through += 1;
      gate.open();
    };
    const connecting = firsts.map(connect);
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(attempts.length).toBeGreaterThan(9);
    for (const from of attempts)
      expect(attempts.filter((time) => time >= from && time < from + 60_000).length).toBeLessThanOrEqual(10);
    isExpired = false;
    await vi.advanceTimersByTimeAsync(7_000);
    await Promise.all(connecting);
    expect(through).toBe(20);
  });

  it("[SY12, SY14] who asks is let in at once, also while others wait for their turn", async () => {
    const gate = makeGate(async () => "expired");
    const entered: string[] = [];
    gate.noteRefusal(await gate.enter(never()));
    for (const name of ["a", "b"]) void gate.enter(never()).then(() => entered.push(name));
    await vi.advanceTimersByTimeAsync(0);
    expect(entered).toEqual(["a"]);
    gate.open();
    await vi.advanceTimersByTimeAsync(0);
    expect(entered).toEqual(["a", "b"]);
  });

  it("[SY14] who leaves does not wait, and asks for no token", async () => {
    let asked = 0;
    const gate = makeGate(async () => `${++asked}`);
    for (let refusals = 0; refusals < 2; refusals += 1) {
      const entering = gate.enter(never());
      await vi.advanceTimersByTimeAsync(60_000);
      gate.noteRefusal(await entering);
    }
    const abort = new AbortController();
    const entering = gate.enter(abort.signal);
    abort.abort();
    expect((await entering).token).toBeUndefined();
    expect(asked).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
