import type { SentMessage, SimulatedConnection } from "@coppice/testkit/simulation";
import { admitStructs, type Frame, parseFrame } from "@coppice/wire";
import { readStructs, type StoredStructs } from "./stored-structs.ts";

/** What a watch compares messages with. */
export interface WireWatchOptions {
  /** What is durable at the relay now. */
  readonly atRelay: StoredStructs;
  /** What is durable on a client's device now; undefined for one that is none of ours. */
  readonly atDevice: (client: string) => StoredStructs | undefined;
  readonly onViolation: (message: string) => void;
}

/**
 * Reads every message as it is sent and says when it promises or hands on what is not durable, or comes in an order in
 * which its receiver would have to wait.
 */
export class WireWatch {
  /** Times the relay asked for what a gap left out. */
  gapRequests = 0;
  readonly #options: WireWatchOptions;
  /** What each client has: what it said it had, got and sent. */
  readonly #heldByConnection = new WeakMap<SimulatedConnection, Map<number, number>>();
  readonly #lastFromServer = new WeakMap<SimulatedConnection, Frame["type"]>();

  constructor(options: WireWatchOptions) {
    this.#options = options;
  }

  read({ connection, from, bytes }: SentMessage): void {
    const parsed = parseFrame(bytes);
    if (!parsed.ok) {
      this.#options.onViolation(`The ${from} sent a frame that cannot be read: ${parsed.error}`);
      return;
    }
    const room = connection.path.slice(1);
    if (from === "client") this.#readFromClient(connection, room, parsed.value);
    else this.#readFromServer(connection, room, parsed.value);
  }

  #readFromClient(connection: SimulatedConnection, room: string, frame: Frame): void {
    const held = this.#heldBy(connection);
    if (frame.type === "syncStep1") {
      for (const [client, clock] of frame.stateVector) held.set(client, Math.max(clock, held.get(client) ?? 0));
    } else if (frame.type === "update" || frame.type === "syncStep2") {
      const durable = this.#options.atDevice(connection.client);
      for (const struct of readStructs(frame.update)) {
        if (durable?.has(room, struct) === false)
          this.#options.onViolation(
            `${connection.client} sent record ${struct.client}:${struct.clock} before it was durable`,
          );
        held.set(struct.client, Math.max(struct.clock + 1, held.get(struct.client) ?? 0));
      }
    }
  }

  #readFromServer(connection: SimulatedConnection, room: string, frame: Frame): void {
    const { atRelay, onViolation } = this.#options;
    const requireDurable = (client: number, clocks: number, what: string): void => {
      if (clocks > 0 && !atRelay.hasClock(room, client, clocks - 1))
        onViolation(`The relay ${what} record ${client}:${clocks - 1} before it was durable`);
    };
    if (frame.type === "ack")
      for (const { client, clock } of frame.pairs) requireDurable(client, clock, "acknowledged");
    if (frame.type === "syncStep1") {
      for (const [client, clock] of frame.stateVector) requireDurable(client, clock, "said it had");
      if (this.#lastFromServer.get(connection) !== "syncStep2") this.gapRequests += 1;
    }
    if (frame.type === "update" || frame.type === "syncStep2") {
      const structs = readStructs(frame.update);
      for (const struct of structs)
        if (!atRelay.has(room, struct))
          onViolation(`The relay handed on record ${struct.client}:${struct.clock} before it was durable`);
      const held = this.#heldBy(connection);
      const admission = admitStructs(structs, (client) => held.get(client) ?? 0);
      if (!admission.ok || admission.value.isMissingSome)
        onViolation(`The relay sent ${connection.client} an update before what it stands on`);
      for (const { client, clock } of structs) held.set(client, Math.max(clock + 1, held.get(client) ?? 0));
    }
    this.#lastFromServer.set(connection, frame.type);
  }

  #heldBy(connection: SimulatedConnection): Map<number, number> {
    let held = this.#heldByConnection.get(connection);
    if (held === undefined) {
      held = new Map();
      this.#heldByConnection.set(connection, held);
    }
    return held;
  }
}
