import { SessionError } from "@coppice/core";
import { closeCodes } from "@coppice/wire";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { startRelay } from "./relay-fixture.ts";
import { firstBytesOf, Writer } from "./writer.ts";

test("[RL33] [RL70] while the disk is full rooms are read and nothing is taken; when there is space all is asked for, also from stock clients", async () => {
  const { store, raw, follower, stock } = await startRelay({ storeCheckIntervalMs: 5 });
  const writer = new Writer(5);
  const first = await follower("room");
  first.sendUpdate(writer.push([1]));
  await first.acknowledged(5, 1);
  let isFull = true;
  const assertSpace = async (): Promise<void> => {
    if (isFull) throw new SessionError("storage_full", "no space");
  };
  store.hooks.beforeCommit = assertSpace;
  store.hooks.beforeWriteValue = assertSpace;
  first.sendUpdate(writer.push([2]));
  expect((await first.closed).code).toBe(closeCodes.storageFull);

  // From now on nobody is closed: what is there is served, and known records are acknowledged again.
  const second = await follower("room");
  await second.acknowledged(5, 1);
  second.sendUpdate(writer.state());
  expect(await second.take("refused")).toMatchObject({ code: closeCodes.storageFull });
  const stockClient = stock("room");
  await stockClient.hasRecords(1);
  stockClient.push(9);
  const third = await raw("other");
  third.sendUpdate(new Writer(6).push([3]));
  await third.barrier();
  expect(store.logs.get("room")).toHaveLength(1);
  expect(store.logs.get("other")).toEqual([]);

  isFull = false;
  expect((await second.take("syncStep1")).stateVector).toEqual(new Map([[5, 1]]));
  second.send({ type: "syncStep2", update: writer.state() });
  await second.acknowledged(5, 2);
  await third.take("syncStep1");
  await stockClient.hasRecords(3);
  while (store.logs.get("room")?.length !== 3) await second.barrier();
  expect(second.socket.readyState).toBe(WebSocket.OPEN);
  expect(stockClient.firstBytes().toSorted()).toEqual([1, 2, 9]);
  expect(firstBytesOf(writer.doc)).toEqual([1, 2]);
});
