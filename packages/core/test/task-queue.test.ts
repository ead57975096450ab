import { describe, expect, test } from "vitest";
import { TaskQueue } from "../src/index.ts";

describe("TaskQueue", () => {
  test("[ST15] tasks run one after another in the order of the calls, the first at once", async () => {
    const queue = new TaskQueue();
    const steps: string[] = [];
    let finishFirst = (): void => {};
    const first = queue.run(async () => {
      steps.push("first starts");
      await new Promise<void>((resolve) => {
        finishFirst = resolve;
      });
      steps.push("first ends");
    });
    const second = queue.run(async () => steps.push("second"));
    const nested = queue.run(async () => {
      const inner = queue.run(async () => steps.push("inner"));
      steps.push("third");
      return { inner };
    });
    expect(steps).toEqual(["first starts"]);
    finishFirst();
    await Promise.all([first, second, (await nested).inner, queue.idle()]);
    expect(steps).toEqual(["first starts", "first ends", "second", "third", "inner"]);
  });

  test("[SE16] a task that fails rejects its own call only", async () => {
    const queue = new TaskQueue();
    const failing = queue.run(() => Promise.reject(new Error("mine")));
    const good = queue.run(async () => "good");
    await expect(failing).rejects.toThrow("mine");
    expect(await good).toBe("good");
    await queue.idle();
  });
});
