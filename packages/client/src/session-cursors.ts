import { SessionError } from "@coppice/core";
import {
  type Cursor,
  CursorBoard,
  type CursorContext,
  createCursorContext,
  encodeCursor,
  findFollowedCursor,
  type RecordCrypto,
  type RoomKeys,
  type YjsSessionStorage,
} from "@coppice/storage-yjs";
import { type Awareness, removeAwarenessStates } from "y-protocols/awareness";
import type { Replica } from "./replica.ts";
import type { SessionCursor } from "./workspace-types.ts";

/** What the cursors of an open session stand on. */
export interface SessionCursorsOptions {
  readonly sessionId: string;
  /** The newest first. Absent: an unsealed room. */
  readonly keys: readonly RoomKeys[] | undefined;
  /** Default: pure JavaScript. */
  readonly crypto?: RecordCrypto | undefined;
  readonly storage: YjsSessionStorage;
  readonly replica: Replica;
  /** This device now; a copied folder takes another id. */
  readonly deviceId: () => string;
  readonly replicaId: string;
  /** Whose leaf the own cursor shows. */
  readonly shows: "replica" | "device";
  /** False: it is shown to nobody. */
  readonly isVisible: boolean;
  readonly deviceNames: () => ReadonlyMap<string, string>;
  /** A replica other than this one shows itself under this device's id. */
  readonly onSameDevice?: ((replicaId: string) => void) | undefined;
  /** The cursors are others now; at most once in `noticeDelayMs`. */
  readonly onChange: () => void;
}

interface AwarenessChanges {
  readonly added: readonly number[];
  readonly updated: readonly number[];
  readonly removed: readonly number[];
}

/** A cursor on an entry with a longer id, in characters of JSON, is not shown: the relay takes no cursor of 16 KiB. */
const maxShownIdChars = 2_000;
/** Changes of cursors within one frame of a screen are told together, in ms. */
const noticeDelayMs = 16;

/**
 * The cursors of one open session: shows this replica's, keeps the others', and follows one of them. Nothing here is
 * ever stored. SPEC CU.
 */
export class SessionCursors {
  readonly #options: SessionCursorsOptions;
  #context: CursorContext;
  readonly #board: CursorBoard;
  #awareness: Awareness | undefined;
  #counter = 0;
  /** The own cursor while it is shown, and the client id it is sealed for. */
  #shown: { cursor: Cursor; text: string; clientId: number } | undefined;
  #following: { deviceId: string; ownWriteCount: number } | undefined;
  #isRunning = false;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #onAwareness = ({ added, updated, removed }: AwarenessChanges): void =>
    this.#take([...added, ...updated, ...removed]);

  constructor(options: SessionCursorsOptions) {
    this.#options = options;
    this.#context = this.#createContext(options.keys);
    this.#board = new CursorBoard(this.#context);
    this.#watch();
  }

  /** Whether an agent runs on this replica. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The live cursors, one of each replica; the own one first. */
  list(): SessionCursor[] {
    const own = this.#shown === undefined ? [] : [this.#shown.cursor];
    const names = this.#options.deviceNames();
    return [...own, ...this.#others()].map(({ device, replica, leafId, following, running }) => {
      const deviceName = names.get(device);
      return {
        deviceId: device,
        replicaId: replica,
        leafId,
        self: replica === this.#options.replicaId,
        sameDevice: device === this.#options.deviceId(),
        ...(deviceName === undefined ? {} : { deviceName }),
        ...(following === undefined ? {} : { following }),
        ...(running ? { running } : {}),
      };
    });
  }

  /** Tells what this replica does to the others when it has changed; call it whenever that may be. */
  update(): void {
    this.#watch();
    this.#followOn();
    this.#show();
  }

  /** Looks at what that device looks at from now on; refused with `invalid_session` while an agent runs here. */
  follow(deviceId: string): void {
    if (this.#isRunning)
      throw new SessionError(
        "invalid_session",
        "An agent runs on this session; follow another device once it has ended.",
      );
    this.#following = { deviceId, ownWriteCount: this.#options.storage.ownWriteCount };
    this.update();
    this.#notify();
  }

  /** Shows and reads cursors with these keys from now on, the newest first. */
  takeKeys(keys: readonly RoomKeys[]): void {
    this.#context = this.#createContext(keys);
    this.#board.takeContext(this.#context);
    // The own cursor is sealed anew; those that could not be opened show themselves again before long.
    this.#shown = undefined;
    this.update();
  }

  /** Ends following and goes back to the own place. */
  unfollow(): void {
    if (this.#following === undefined) return;
    this.#following = undefined;
    this.#options.storage.lookBack();
    this.update();
    this.#notify();
  }

  /** Says whether an agent runs here. One that starts runs where this replica looks, and following ends. */
  setRunning(isRunning: boolean): void {
    if (isRunning === this.#isRunning) return;
    this.#isRunning = isRunning;
    if (isRunning) {
      this.#following = undefined;
      this.#options.storage.holdLeaf();
    }
    this.update();
    this.#notify();
  }

  /** Stops listening; taking the cursor down is the replica's. */
  close(): void {
    clearTimeout(this.#noticeTimer);
    this.#awareness?.off("change", this.#onAwareness);
    this.#board.clear();
  }

  #createContext([keys, ...olderKeys]: readonly RoomKeys[] = []): CursorContext {
    const { sessionId, crypto } = this.#options;
    return createCursorContext({ sessionId, keys, olderKeys, crypto });
  }

  /** Whoever else claims to be this replica is an echo or a lie: "me" is what this replica shows. */
  #others(): Cursor[] {
    return this.#board.cursors().filter(({ replica }) => replica !== this.#options.replicaId);
  }

  /** Listens to the replica's awareness, which is another one after the replica has been rebuilt. */
  #watch(): void {
    const { awareness } = this.#options.replica;
    if (awareness === this.#awareness) return;
    this.#awareness?.off("change", this.#onAwareness);
    this.#awareness = awareness;
    this.#shown = undefined;
    this.#board.clear();
    awareness.on("change", this.#onAwareness);
    this.#take([...awareness.states.keys()]);
  }

  #take(clientIds: readonly number[]): void {
    const awareness = this.#awareness;
    if (awareness === undefined) return;
    const others = clientIds.filter((clientId) => clientId !== awareness.clientID);
    const { isChanged, useless } = this.#board.take(others, awareness.states);
    // A stranger's states would otherwise fill the memory.
    if (useless.length > 0) removeAwarenessStates(awareness, [...useless], "no cursor");
    if (!isChanged) return;
    this.#followOn();
    this.#notify();
    for (const { device, replica } of this.#others())
      if (device === this.#options.deviceId()) this.#options.onSameDevice?.(replica);
  }

  #followOn(): void {
    const { storage } = this.#options;
    if (this.#following === undefined) return;
    if (storage.ownWriteCount !== this.#following.ownWriteCount) {
      // An append or a move has made a place here the own one.
      this.#following = undefined;
      return;
    }
    const followed = findFollowedCursor(this.#following.deviceId, this.#others());
    // While the device is away, and until its entry has arrived, the view stays where it is.
    if (followed !== undefined) storage.lookAt(followed.leafId);
  }

  #show(): void {
    const { storage, replicaId, shows, isVisible } = this.#options;
    const awareness = this.#awareness;
    if (awareness === undefined || !storage.isPlaced || !isVisible) return;
    const leafId = shows === "device" ? storage.getDeviceLeaf() : storage.getPlace();
    const cursor: Cursor = {
      device: this.#options.deviceId(),
      replica: replicaId,
      leafId,
      ...(this.#following === undefined ? {} : { following: this.#following.deviceId }),
      ...(this.#isRunning ? { running: true } : {}),
    };
    const { clientID } = awareness;
    const text = JSON.stringify(cursor);
    if (this.#shown?.clientId === clientID && this.#shown.text === text) return;
    if (text.length > maxShownIdChars && JSON.stringify(leafId).length > maxShownIdChars) {
      if (this.#shown === undefined) return;
      this.#shown = undefined;
      awareness.setLocalState(null);
    } else {
      this.#shown = { cursor, text, clientId: clientID };
      this.#counter += 1;
      awareness.setLocalState({ ...encodeCursor(cursor, this.#counter, clientID, this.#context) });
    }
    this.#notify();
  }

  #notify(): void {
    this.#noticeTimer ??= setTimeout(() => {
      this.#noticeTimer = undefined;
      this.#options.onChange();
    }, noticeDelayMs);
  }
}
