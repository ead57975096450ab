import {
  type DeviceIdentity,
  openWorkspace,
  type PairingInvitation,
  parsePairingLink,
  type Workspace,
} from "@coppice/client";
import { createUuidV7, SessionError, type UpdateStore } from "@coppice/core";
import { deleteIndexedDbStore, openBrowserStore, requestPersistence } from "@coppice/persist-indexeddb";
import type { HomeStore } from "./home-store.ts";
import { readPageLink, removeFragment } from "./page-link.ts";
import { isSameKey, type StoredWorkspace, storeNameOf } from "./stored-workspace.ts";

/** A workspace that is open in this tab. */
export interface OpenedWorkspace {
  readonly stored: StoredWorkspace;
  readonly workspace: Workspace;
  readonly store: UpdateStore;
  /** Why nothing is kept in this browser; undefined: it is. */
  readonly notKept?: string;
}

/** What the app shows, before it comes to pages. */
export type AppState =
  | { readonly state: "starting" }
  /** No workspace here. `problem`: what was wrong with the link that was opened. */
  | { readonly state: "unpaired"; readonly problem?: string }
  /** A link was opened, of a workspace that is not here; `others`: how many are. */
  | { readonly state: "invited"; readonly invitation: PairingInvitation; readonly others: number }
  | { readonly state: "open"; readonly opened: OpenedWorkspace; readonly stored: readonly StoredWorkspace[] }
  | { readonly state: "failed"; readonly error: SessionError };

/** How a browser is to be called in a workspace. */
export type NewDevice = Pick<DeviceIdentity, "name" | "person">;

/** This browser's home: which workspaces it has joined, and the one that is open in this tab. */
export class AppHome {
  readonly #openHome: () => Promise<HomeStore>;
  readonly #listeners = new Set<() => void>();
  #homeStore: HomeStore | undefined;
  #state: AppState = { state: "starting" };
  /** Changes wait for each other: two that open something would leave one of them open. */
  #changing: Promise<void> = Promise.resolve();

  constructor(openHome: () => Promise<HomeStore>) {
    this.#openHome = openHome;
  }

  get home(): HomeStore {
    if (this.#homeStore === undefined) throw new SessionError("unknown", "The home is not open yet.");
    return this.#homeStore;
  }

  readonly getState = (): AppState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Opens what the address invites to, else the workspace that was open last. Also for when the address has changed. */
  start(): Promise<void> {
    return this.#change(async () => {
      this.#homeStore ??= await this.#openHome();
      let invitation: PairingInvitation | undefined;
      let problem: string | undefined;
      try {
        invitation = readPageLink(location);
      } catch (error) {
        if (!(error instanceof SessionError)) throw error;
        problem = error.message;
        removeFragment();
      }
      if (invitation !== undefined) await this.#takeInvitation(invitation);
      else if (this.#state.state !== "open" || problem !== undefined) await this.#openLast(problem);
    });
  }

  /** Takes a link that somebody pasted. Throws what is wrong with it. */
  takeLink(text: string): Promise<void> {
    const invitation = parsePairingLink(text.trim());
    return this.#change(() => this.#takeInvitation(invitation));
  }

  /** Joins the workspace of the invitation that is shown. Rejects when this browser cannot keep its key. */
  async join(device: NewDevice): Promise<void> {
    const { state } = this;
    if (state.state !== "invited") return;
    // Asked here, because browsers may ask the person, who has just said what this is about.
    void requestPersistence();
    const stored: StoredWorkspace = {
      v: 1,
      id: createUuidV7(),
      ...state.invitation,
      device: { id: createUuidV7(), ...toNames(device) },
      openedAt: Date.now(),
    };
    await this.home.put(stored);
    removeFragment();
    await this.#change(() => this.#open(stored));
  }

  /** Stays with what is here, without joining. */
  decline(): Promise<void> {
    return this.#change(async () => {
      removeFragment();
      await this.#openLast();
    });
  }

  /** Goes over to another workspace of this browser. */
  switchTo(id: string): Promise<void> {
    return this.#change(async () => {
      const stored = (await this.home.list()).find((workspace) => workspace.id === id);
      if (stored !== undefined) await this.#open(stored);
    });
  }

  /** Gives this device another name, and says whose it is. */
  async nameDevice(device: NewDevice): Promise<void> {
    const { state } = this;
    if (state.state !== "open") return;
    const { stored, workspace } = state.opened;
    const names = toNames(device);
    if (names.name !== workspace.device.name) await workspace.renameDevice(names.name);
    const changed: StoredWorkspace = { ...stored, device: { id: stored.device.id, ...names } };
    await this.home.put(changed);
    await this.#change(async () => {
      // A workspace says whose a device is when it opens.
      if (names.person !== stored.device.person) await this.#open(changed);
      else await this.#show({ ...state.opened, stored: changed });
    });
  }

  /** Deletes what this browser has of the workspace that is open, its key included. */
  leave(): Promise<void> {
    return this.#change(async () => {
      if (this.#state.state !== "open") return;
      const { stored } = this.#state.opened;
      await this.#close();
      await this.home.remove(stored.id);
      if (this.home.isDurable) await deleteIndexedDbStore({ name: storeNameOf(stored) });
      await this.#openLast();
    });
  }

  get state(): AppState {
    return this.#state;
  }

  async #takeInvitation(invitation: PairingInvitation): Promise<void> {
    const known = await this.home.list();
    const same = known.find(({ workspaceKey }) => isSameKey(workspaceKey, invitation.workspaceKey));
    if (same === undefined) {
      await this.#close();
      this.#set({ state: "invited", invitation, others: known.length });
      return;
    }
    // The link of a workspace that is here says where its relay is now.
    const { relay = same.relay } = invitation;
    const stored: StoredWorkspace = { ...same, ...(relay === undefined ? {} : { relay }) };
    await this.home.put(stored);
    removeFragment();
    await this.#open(stored);
  }

  async #openLast(problem?: string): Promise<void> {
    const [last] = await this.home.list();
    if (last !== undefined) return this.#open(last);
    this.#set(problem === undefined ? { state: "unpaired" } : { state: "unpaired", problem });
  }

  async #open(stored: StoredWorkspace): Promise<void> {
    await this.#close();
    const used: StoredWorkspace = { ...stored, openedAt: Date.now() };
    await this.home.put(used);
    const browserStore = await openBrowserStore({ name: storeNameOf(stored) });
    const { store } = browserStore;
    try {
      const { device, workspaceKey, relay } = used;
      const workspace = await openWorkspace({ store, device, workspaceKey, ...(relay === undefined ? {} : { relay }) });
      const notKept = browserStore.isDurable ? undefined : browserStore.reason.message;
      await this.#show({ stored: used, workspace, store, ...(notKept === undefined ? {} : { notKept }) });
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async #show(opened: OpenedWorkspace): Promise<void> {
    this.#set({ state: "open", opened, stored: await this.home.list() });
  }

  async #close(): Promise<void> {
    if (this.#state.state !== "open") return;
    const { workspace, store } = this.#state.opened;
    // Pages go first: they use what is being closed.
    this.#set({ state: "starting" });
    await workspace.close();
    await store.close();
  }

  #change(change: () => Promise<void>): Promise<void> {
    const changing = this.#changing.then(change).catch((error: unknown) => {
      this.#set({ state: "failed", error: toSessionError(error) });
    });
    this.#changing = changing;
    return changing;
  }

  #set(state: AppState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function toNames({ name, person }: NewDevice): NewDevice {
  const trimmed = person?.trim() ?? "";
  return { name: name.trim(), ...(trimmed === "" ? {} : { person: trimmed }) };
}

function toSessionError(error: unknown): SessionError {
  if (error instanceof SessionError) return error;
  return new SessionError("unknown", error instanceof Error ? error.message : String(error), { cause: error });
}
