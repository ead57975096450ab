import { SessionError, type UpdateLog } from "@coppice/core";
import { describe, expect, it } from "vitest";
import { DurableQueue } from "../src/durable-queue.ts";

/** A log on a disk that can be full: the port's contract, nothing of LMDB. */
class FillableLog {
  readonly kept: number[] = [];
  isFull = false;

  append(update: Uint8Array): Promise<number> {
    if (this.isFull) return Promise.reject(new SessionError("storage_full", "no space left"));
    this.kept.push(update[0] ?? -1);
    return Promise.resolve(this.kept.length);
  }
}

function open(log: FillableLog): { queue: DurableQueue; health: (string | undefined)[]; healthy: () => Promise<void> } {
  const health: (string | undefined)[] = [];
  let wake: (() => void) | undefined;
  const queue = new DurableQueue(log as unknown as UpdateLog, {
    saved: () => undefined,
    health: (error) => {
      health.push(error?.code);
      if (error === undefined) wake?.();
    },
  });
  return {
    queue,
    health,
    healthy: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
}

describe("DurableQueue", () => {
  it("[CL2] a full disk is told to the append, and everything is saved in order once there is room", async () => {
    const log = new FillableLog();
    const { queue, health, healthy } = open(log);
    queue.push(Uint8Array.of(1), { client: 7, from: 0, to: 1 });
    await queue.flushed();

    log.isFull = true;
    queue.push(Uint8Array.of(2), { client: 7, from: 1, to: 3 });
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    queue.push(Uint8Array.of(3), undefined);
    queue.push(Uint8Array.of(4), { client: 7, from: 3, to: 4 });
    expect(queue.firstUnsavedClocks()).toEqual(new Map([[7, 1]]));
    expect(queue.unsavedRecords()).toBe(3);

    const recovered = healthy();
    log.isFull = false;
    await recovered;
    await queue.flushed();
    expect(log.kept).toEqual([1, 2, 3, 4]);
    expect(health).toEqual(["storage_full", undefined]);
    expect(queue.firstUnsavedClocks().size).toBe(0);
  });

  it("[CL2] closing saves what is unsaved, or says that it cannot", async () => {
    const log = new FillableLog();
    const { queue } = open(log);
    log.isFull = true;
    queue.push(Uint8Array.of(9), { client: 7, from: 0, to: 1 });
    await expect(queue.close()).rejects.toMatchObject({ code: "storage_full" });
    log.isFull = false;
    await queue.close();
    expect(log.kept).toEqual([9]);
  });

  it("[CL42] a restart waits for what is on its way, does its step before anything else, and repeats one that fails", async () => {
    const log = new FillableLog();
    const { queue, health, healthy } = open(log);
    queue.push(Uint8Array.of(1), undefined);
    log.isFull = true;
    queue.push(Uint8Array.of(2), undefined);
    queue.push(Uint8Array.of(3), { client: 7, from: 0, to: 1 });
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    const keptAtStep: number[][] = [];
    queue.restart(
      async () => {
        keptAtStep.push([...log.kept]);
        if (log.isFull) throw new SessionError("storage_full", "no space left");
      },
      ({ update, own }) => (update[0] === 3 ? undefined : { update, own }),
    );
    queue.push(Uint8Array.of(4), undefined);
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    log.isFull = false;
    await healthy();
    await queue.flushed();
    queue.push(Uint8Array.of(5), undefined);
    await queue.flushed();
    expect(keptAtStep).toEqual([[1], [1]]);
    expect(log.kept).toEqual([1, 2, 4, 5]);
    expect(health.at(-1)).toBeUndefined();
  });
});
