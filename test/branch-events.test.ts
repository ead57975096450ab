import type { BranchEvent, SharedSession, Workspace } from "@coppice/client";
import { afterEach, describe, expect, it } from "vitest";
import { Cleanup, fetchSession, makeStore, openDevice, startRelay } from "./src/rooms-under-test.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

/** What was told of branches, and a way to wait for the next. */
class Told {
  readonly batches: (readonly BranchEvent[])[] = [];
  #wake: () => void = () => undefined;

  constructor({ subscribeBranches }: { subscribeBranches: Workspace["subscribeBranches"] }) {
    subscribeBranches((branches) => {
      this.batches.push(branches);
      this.#wake();
    });
  }

  async next(count: number): Promise<readonly BranchEvent[]> {
    while (this.batches.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.batches[count - 1] ?? [];
  }
}

const listenTo = (subject: SharedSession | Workspace): Told =>
  new Told({ subscribeBranches: (listener) => subject.subscribeBranches(listener) });

describe("branches that other devices add", () => {
  it("[WS70] the device that added a branch is named, live and after having been offline, and nobody tells of his own", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const [laptopStore, phoneStore] = [await makeStore(cleanup), await makeStore(cleanup)];
    const laptop = await openDevice(cleanup, { name: "laptop", relay: relay.url, store: laptopStore });
    const onLaptop = await laptop.createSession({ cwd: "/tmp" });
    const root = await say(onLaptop, "root");
    const trunk = await say(onLaptop, "trunk");
    await say(onLaptop, "tip");
    const phone = await openDevice(cleanup, { name: "phone", relay: relay.url, store: phoneStore });
    const phoneSpaceTold = listenTo(phone);
    const onPhone = await fetchSession(phone, onLaptop.id);
    while (!laptop.deviceNames().has("device-phone"))
      await new Promise<void>((resolve) => {
        const stop = laptop.subscribe(() => {
          stop();
          resolve();
        });
      });
    const [told, spaceTold] = [listenTo(onLaptop), listenTo(laptop)];
    const phoneTold = listenTo(onPhone);

    // A tip that goes on is no branch; an entry beside another is one, and one event for all of a transaction.
    await say(onPhone, "the tip goes on");
    await onPhone.session.moveTo(trunk);
    const first = await say(onPhone, "a branch");
    const event = {
      kind: "branch",
      sessionId: onLaptop.id,
      entryId: first,
      parentId: trunk,
      deviceId: "device-phone",
      deviceName: "phone",
    };
    expect(await told.next(1)).toEqual([event]);
    expect(await spaceTold.next(1)).toEqual([event]);

    // Both write while the laptop is away.
    await laptop.close();
    const offline = await openDevice(cleanup, { name: "laptop", store: laptopStore });
    await say(await offline.openSession(onLaptop.id), "written offline");
    await offline.close();
    await onPhone.session.moveTo(root);
    const second = await say(onPhone, "while the laptop was away");
    await onPhone.waitUntilAcknowledged(30_000);
    const back = await openDevice(cleanup, { name: "laptop", relay: relay.url, store: laptopStore });
    const backTold = listenTo(back);
    await back.openSession(onLaptop.id);
    expect((await backTold.next(1)).map(({ entryId, deviceName }) => [entryId, deviceName])).toEqual([
      [second, "phone"],
    ]);

    // The phone was told of the laptop's, never of its own nor of what it found when it came.
    await onPhone.session.moveTo(root);
    await say(await back.openSession(onLaptop.id), "seen by the phone");
    await onPhone.waitUntilSynced(30_000);
    const all = [...phoneTold.batches, ...phoneSpaceTold.batches].flat();
    expect(all.every(({ deviceId }) => deviceId === "device-laptop")).toBe(true);
  });

  it("[WS70] a device that is new to a session is told of none of the branches it finds there", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const laptop = await openDevice(cleanup, { name: "laptop", relay: relay.url, store: await makeStore(cleanup) });
    const session = await laptop.createSession({ cwd: "/tmp" });
    const root = await say(session, "root");
    for (const text of ["one", "two"]) {
      await session.session.moveTo(root);
      await say(session, text);
    }
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    const phone = await openDevice(cleanup, { name: "phone", relay: relay.url, store: await makeStore(cleanup) });
    const told = listenTo(phone);
    const fetched = await fetchSession(phone, session.id);
    expect(fetched.hasBeenFetched).toBe(true);
    expect(told.batches).toEqual([]);
    await session.session.moveTo(root);
    await say(session, "three");
    expect(await told.next(1)).toMatchObject([{ deviceName: "laptop", parentId: root }]);
  });

  it("[WS70] branches of another process of the same device are not told", async () => {
    const store = await makeStore(cleanup);
    const one = await openDevice(cleanup, { name: "laptop", store });
    const session = await one.createSession({ cwd: "/tmp" });
    const root = await say(session, "root");
    await say(session, "tip");
    const told = listenTo(one);
    const two = await openDevice(cleanup, { name: "laptop", store });
    const other = await two.openSession(session.id);
    await other.session.moveTo(root);
    const added = await say(other, "a branch");
    while ((await session.storage.getEntry(added)) === undefined)
      await new Promise<void>((resolve) => {
        const stop = session.subscribe(() => {
          stop();
          resolve();
        });
      });
    expect(told.batches).toEqual([]);
  });
});
