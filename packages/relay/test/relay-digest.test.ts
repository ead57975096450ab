import { createHash } from "node:crypto";
import { digestStateVector, type StateVector } from "@coppice/wire";
import { expect, test } from "vitest";
import { startRelay } from "./relay-fixture.ts";
import { Writer } from "./writer.ts";

const digestOf = (vector: StateVector): Uint8Array =>
  new Uint8Array(digestStateVector(vector, (bytes) => createHash("sha256").update(bytes).digest()));

test("[RL60] a digest is answered with that of what the relay holds durably: equal when in step, different when not", async () => {
  const { raw } = await startRelay();
  const client = await raw("room");
  client.send({ type: "digest", digest: digestOf(new Map()) });
  expect((await client.take("digest")).digest).toEqual(digestOf(new Map()));
  const writer = new Writer(5);
  client.sendUpdate(writer.push([1]));
  client.sendUpdate(writer.push([2]));
  client.sendUpdate(new Writer(9).push([3]));
  await client.acknowledged(9, 1);
  client.send({ type: "digest", digest: digestOf(new Map([[5, 2]])) });
  const expected = new Map([
    [5, 2],
    [9, 1],
  ]);
  expect((await client.take("digest")).digest).toEqual(digestOf(expected));
});

test("[RL60] an answer to a digest stands behind the records that it counts", async () => {
  const { store, follower } = await startRelay();
  const [sender, reader] = [await follower("room"), await follower("room")];
  let letCommit = (): void => {};
  store.hooks.beforeCommit = () =>
    new Promise((resolve) => {
      letCommit = resolve;
    });
  sender.sendUpdate(new Writer(5).push([1]));
  await sender.barrier();
  reader.send({ type: "digest", digest: digestOf(new Map()) });
  expect((await reader.take("digest")).digest).toEqual(digestOf(new Map()));
  letCommit();
  await sender.acknowledged(5, 1);
  reader.send({ type: "digest", digest: digestOf(new Map()) });
  expect((await reader.take("digest")).digest).toEqual(digestOf(new Map([[5, 1]])));
  const types = reader.received.map(({ type }) => type);
  expect(types.lastIndexOf("digest")).toBeGreaterThan(types.indexOf("update"));
});
