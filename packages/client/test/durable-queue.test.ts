import { SessionError, type UpdateLog } from "@coppice/core";
import { describe, expect, it } from "vitest";
import { DurableQueue, type QueuedUpdate } from "../src/durable-queue.ts";

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

const ownUpdate = (byte: number, from: number, to: number): QueuedUpdate => ({
  update: Uint8Array.of(byte),
  firstClocks: new Map([[7, from]]),
  own: { client: 7, from, to },
});

const receivedUpdate = (byte: number): QueuedUpdate => ({
  update: Uint8Array.of(byte),
  firstClocks: new Map(),
  own: undefined,
});

describe("DurableQueue", () => {
  it("[CL1, CL2] a full disk is told to the append, and everything is saved in order once there is room", async () => {
    const log = new FillableLog();
    const { queue, health, healthy } = open(log);
    queue.push(ownUpdate(1, 0, 1));
    await queue.flushed();

    log.isFull = true;
    queue.push(ownUpdate(2, 1, 3));
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    queue.push({ update: Uint8Array.of(3), firstClocks: new Map([[8, 5]]), own: undefined });
    queue.push(ownUpdate(4, 3, 4));
    expect(queue.firstUnsavedClocks()).toEqual(
      new Map([
        [7, 1],
        [8, 5],
      ]),
    );
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
    queue.push(ownUpdate(9, 0, 1));
    await expect(queue.close()).rejects.toMatchObject({ code: "storage_full" });
    log.isFull = false;
    await queue.close();
    expect(log.kept).toEqual([9]);
  });

  it("[CL42] a restart waits for what is on its way, does its step before anything else, and repeats one that fails", async () => {
    const log = new FillableLog();
    const { queue, health, healthy } = open(log);
    queue.push(receivedUpdate(1));
    log.isFull = true;
    queue.push(receivedUpdate(2));
    queue.push(ownUpdate(3, 0, 1));
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    const keptAtStep: number[][] = [];
    queue.restart(
      async () => {
        keptAtStep.push([...log.kept]);
        if (log.isFull) throw new SessionError("storage_full", "no space left");
      },
      (queued) => (queued.update[0] === 3 ? undefined : queued),
    );
    queue.push(receivedUpdate(4));
    await expect(queue.flushed()).rejects.toMatchObject({ code: "storage_full" });
    log.isFull = false;
    await healthy();
    await queue.flushed();
    queue.push(receivedUpdate(5));
    await queue.flushed();
    expect(keptAtStep).toEqual([[1], [1]]);
    expect(log.kept).toEqual([1, 2, 4, 5]);
    expect(health.at(-1)).toBeUndefined();
  });
});
