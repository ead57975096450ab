import type { SharedSession, Workspace } from "@coppice/client";
import { createElement } from "react";
import { describe, expect, it } from "vitest";
import { type SessionState, useSession, WorkspaceProvider } from "../src/index.ts";
import { openDevice, say, startRelay } from "./devices.ts";
import { mount, Probe, Watch, watchHooks } from "./mount.ts";

const isOpen = ({ state }: SessionState): boolean => state === "open";
const sessionOf = (state: SessionState): SharedSession => (state as { session: SharedSession }).session;

/** Settles when it is so; asked again whenever the session or the workspace says that something changed. */
function until(source: SharedSession | Workspace, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return;
      stop();
      resolve();
    };
    const stop = source.subscribe(look);
    look();
  });
}

/** Settles when nothing can be appended any more. */
async function untilClosed(session: SharedSession): Promise<void> {
  for (;;) {
    const code = await say(session, "still open").catch(({ code }) => code);
    if (code === "closed") return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A session of the laptop that has been sent, and a phone that has heard of it. */
async function share() {
  const relay = await startRelay();
  const laptopSpace = await openDevice("laptop", relay.url);
  const laptop = await laptopSpace.createSession({ id: "shared", cwd: "/" });
  await say(laptop, "one");
  await laptop.waitUntilAcknowledged(60_000);
  await laptopSpace.waitUntilAcknowledged(60_000);
  const phoneSpace = await openDevice("phone", relay.url);
  await phoneSpace.waitUntilSynced(60_000);
  const seesPhone = (): number => laptop.getCursors().filter(({ deviceId }) => deviceId === "id-phone").length;
  return { relay, laptop, laptopSpace, phoneSpace, seesPhone };
}

describe("sessions that components hold open", () => {
  it("[RE11] F63: a mount, unmount and mount in a row leave one live replica, and nothing is heard of the one that is closed", async () => {
    const { laptop, phoneSpace, seesPhone } = await share();
    const watch = new Watch<SessionState>();
    const probe = createElement(Probe<SessionState>, { use: () => useSession("shared"), watch });
    const page = createElement(WorkspaceProvider, { workspace: phoneSpace, keepOpenMs: 0 }, probe);
    const mounted = mount(page);
    // Before it is open, with nothing in between: the opening of the first mount belongs to the second one now.
    await watch.until(() => true);
    mounted.render(null);
    mounted.render(page);
    const session = sessionOf(await watch.until(isOpen));
    await until(laptop, () => seesPhone() === 1);
    expect(await phoneSpace.openSession("shared")).toBe(session);

    mounted.render(null);
    await until(laptop, () => seesPhone() === 0);
    const { commits } = watch;
    let heard = 0;
    session.subscribe(() => heard++);
    await say(laptop, "two");
    await expect(say(session, "into the dead one")).rejects.toMatchObject({ code: "closed" });

    mounted.render(page);
    const again = sessionOf(await watch.until((state) => isOpen(state) && sessionOf(state) !== session));
    await until(again, () => again.tree.size === 2);
    await until(laptop, () => seesPhone() === 1);
    expect(heard).toBe(0);
    expect(watch.values.slice(commits).some((state) => isOpen(state) && sessionOf(state) === session)).toBe(false);
  });

  it("[RE11] one that is let go of while it is being opened is closed all the same; one that is kept for ever is not", async () => {
    const workspace = await openDevice("laptop");
    await (await workspace.createSession({ id: "shared", cwd: "/" })).close();
    const passing = watchHooks(workspace, () => useSession("shared"), { keepOpenMs: 0 });
    await passing.until(() => true);
    passing.mounted.unmount();
    const first = await workspace.openSession("shared");
    await untilClosed(first);
    const lasting = watchHooks(workspace, () => useSession("shared"), { keepOpenMs: Number.POSITIVE_INFINITY });
    const session = sessionOf(await lasting.until(isOpen));
    lasting.mounted.unmount();
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(await workspace.openSession("shared")).toBe(session);
  });

  it("[RE11] one that somebody else closes is opened anew for the components that show it", async () => {
    const workspace = await openDevice("laptop");
    const session = await workspace.createSession({ id: "shared", cwd: "/" });
    const watch = watchHooks(workspace, () => useSession("shared"));
    await watch.until(isOpen);
    await session.close();
    const again = sessionOf(await watch.until((state) => isOpen(state) && sessionOf(state) !== session));
    expect(again.isClosed).toBe(false);
  });

  it("[RE12] what waits for the relay keeps a session open until it has been sent", async () => {
    const { relay, laptop, phoneSpace, seesPhone } = await share();
    const watch = watchHooks(phoneSpace, () => useSession("shared"), { keepOpenMs: 0 });
    const session = sessionOf(await watch.until(isOpen));
    await session.waitUntilSynced(60_000);
    await relay.stop();
    await until(session, () => session.status().relay.state === "offline");
    await say(session, "typed in a tunnel");
    watch.mounted.unmount();
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(await phoneSpace.openSession("shared")).toBe(session);
    await relay.start();
    await until(laptop, () => laptop.tree.size === 2);
    await until(laptop, () => seesPhone() === 0);
    await expect(say(session, "later")).rejects.toMatchObject({ code: "closed" });
  });

  it("[RE13] a session that the list does not have yet is being opened while the list is fetched", async () => {
    const { relay } = await share();
    const tablet = await openDevice("tablet", relay.url);
    const watch = watchHooks(tablet, () => useSession("shared"));
    await watch.until(isOpen);
    expect(new Set(watch.values.map(({ state }) => state))).toEqual(new Set(["opening", "open"]));
  });

  it("[RE13] a session that nobody has listed is not found, and opens by itself once somebody has", async () => {
    const { laptopSpace, phoneSpace } = await share();
    const watch = watchHooks(phoneSpace, () => useSession("later"));
    expect(await watch.until(({ state }) => state === "failed")).toMatchObject({ error: { code: "not_found" } });
    await laptopSpace.createSession({ id: "later", cwd: "/" });
    await watch.until(isOpen);
  });

  it("[RE13] without a connection the state says that this device does not know the session; a deleted one opens", async () => {
    const alone = await openDevice("laptop");
    const watch = watchHooks(alone, () => useSession("later"));
    const failed = await watch.until(({ state }) => state === "failed");
    expect(failed).toMatchObject({ error: { code: "not_synced" } });
    const session = await alone.createSession({ id: "later", cwd: "/" });
    expect(sessionOf(await watch.until(isOpen))).toBe(session);
    watch.mounted.unmount();
    await session.close();
    await alone.deleteSession("later", 0);
    const deleted = watchHooks(alone, () => useSession("later"), { keepOpenMs: 0 });
    const open = sessionOf(await deleted.until(isOpen));
    await say(open, "to keep");
    deleted.mounted.unmount();
    await untilClosed(open);
  });

  it("[RE14] what goes wrong is a state, and is tried again when somebody asks", async () => {
    let isBroken = false;
    const workspace = await openDevice("laptop", undefined, (store) => ({
      openLog: async (name) => {
        if (isBroken) throw new Error("the disk is gone");
        return store.openLog(name);
      },
      listLogs: () => store.listLogs(),
      deleteLog: (name) => store.deleteLog(name),
      readValue: (key) => store.readValue(key),
      writeValue: (key, value) => store.writeValue(key, value),
      onForeignChange: (listener) => store.onForeignChange(listener),
      close: () => store.close(),
    }));
    await (await workspace.createSession({ id: "shared", cwd: "/" })).close();
    isBroken = true;
    const watch = watchHooks(workspace, () => useSession("shared"));
    const failed = await watch.until(({ state }) => state === "failed");
    expect(failed).toMatchObject({ error: { name: "SessionError", code: "unknown", message: "the disk is gone" } });
    (failed as { retry: () => void }).retry();
    await watch.until((state) => state.state === "failed" && state !== failed);
    isBroken = false;
    (watch.last as { retry: () => void }).retry();
    await watch.until(isOpen);
  });
});
