import type { Result } from "@coppice/core";
import { admitStructs, chunkStructs, encodeFrame, offenceToCloseReason, parseUpdate, type Struct } from "@coppice/wire";
import type { Refusal } from "./authorize.ts";
import type { RoomLog } from "./room-log.ts";
import type { WriteGate } from "./write-gate.ts";

/** What became of an update that was delivered. */
export interface Delivered {
  /** Something before a part of it is missing; that part was dropped. */
  readonly hasGap: boolean;
  /** The disk is full; what was new of it was dropped. */
  readonly isRefused: boolean;
}

/** A part of a delivered update that is durable now. */
export interface StoredChunk<Sender> {
  readonly seq: number;
  readonly structs: readonly Struct[];
  /** The whole websocket message. */
  readonly frame: Uint8Array;
  readonly sender: Sender;
}

/** Who is told what becomes of deliveries, in the order they were taken. */
export interface DeliveryListener<Sender> {
  /** A chunk is durable and part of the room's log. */
  noteStored(chunk: StoredChunk<Sender>): void;
  /** Of these clients, all that this delivery held is durable. */
  noteSettled(sender: Sender, clients: ReadonlySet<number>): void;
  /** Something was not stored. Nothing that came later may be taken for stored: end the deliveries. */
  noteUnstored(error: unknown): void;
  /** Something else went wrong, so that nobody can say what is durable. */
  noteFailure(error: unknown): void;
}

/** When more than this is on its way to the disk, senders wait before they may deliver more. */
const maxInFlightBytes = 8 * 1024 * 1024;

/** One chunk on its way to the disk. Never rejects: it is looked at only when those before it are settled. */
interface PendingChunk {
  readonly structs: readonly Struct[];
  /** Size of the update. */
  readonly bytes: number;
  readonly frame: Uint8Array;
  readonly stored: Promise<Result<number, unknown>>;
}

/**
 * The way of an update into a room's log: checked, compared with what is there, handed to the log and settled.
 *
 * Two state vectors: `#accepted` decides what fits (checked, handed to the log, perhaps not durable yet), the log's
 * index is what is durable. Only the latter is acknowledged, forwarded and told to clients.
 */
export class RoomDeliveries<Sender> {
  readonly #log: RoomLog;
  readonly #writeGate: WriteGate;
  readonly #listener: DeliveryListener<Sender>;
  /** Numbers of structs of clients of which something is on its way to the disk; of the others it is the index's. */
  #accepted: Map<number, number> | undefined;
  #inFlightBytes = 0;
  #commits: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(log: RoomLog, writeGate: WriteGate, listener: DeliveryListener<Sender>) {
    this.#log = log;
    this.#writeGate = writeGate;
    this.#listener = listener;
  }

  /**
   * Takes an update: checks it, hands what is new to the log and settles when that is done, which is before it is
   * durable (so that many share one commit) unless much is on its way already. What follows the commit goes to the
   * listener. Refused updates change nothing. Calls of one sender must not overlap; those of several may.
   */
  async deliver(sender: Sender, update: Uint8Array): Promise<Result<Delivered, Refusal>> {
    const parsed = parseUpdate(update);
    if (!parsed.ok) return refuseBy(parsed.error);
    const { structs } = parsed.value;
    let compared = 0;
    for (;;) {
      const admission = admitStructs(structs, (client) => this.#acceptedOf(client));
      if (!admission.ok) return refuseBy(admission.error);
      const { known, accepted, isMissingSome } = admission.value;
      if (known.length === compared) {
        if (this.#writeGate.isShut && known.length < structs.length) {
          this.#append(sender, known, []);
          return { ok: true, value: { hasGap: false, isRefused: true } };
        }
        // No await between admission and here: nobody else can have changed what fits.
        this.#append(sender, structs, accepted);
        if (this.#inFlightBytes > maxInFlightBytes) await this.#commits;
        return { ok: true, value: { hasGap: isMissingSome, isRefused: false } };
      }
      if (!(await this.#isSameAsStored(known))) {
        return { ok: false, error: { reason: "conflictingHistory", message: "other content for what the room holds" } };
      }
      // While comparing, others may have delivered more of these structs: then compare those too.
      compared = known.length;
    }
  }

  #acceptedOf(client: number): number {
    return this.#accepted?.get(client) ?? this.#log.index.held(client);
  }

  async #isSameAsStored(structs: readonly Struct[]): Promise<boolean> {
    await this.#commits;
    const expected = new Map<string, Struct>();
    const seqs = new Set<number>();
    for (const struct of structs) {
      const seq = this.#log.index.seqOf(struct.client, struct.clock);
      // Accepted but not durable after all commits: the room has failed, and its members are being closed.
      if (seq === undefined) return true;
      seqs.add(seq);
      expected.set(structKey(struct), struct);
    }
    const sorted = [...seqs].sort((left, right) => left - right);
    const endReading = this.#log.startReading();
    try {
      for (let next = 0; next < sorted.length; ) {
        const slice = await this.#log.readSlice(sorted, next, (struct) => expected.has(structKey(struct)));
        if (!slice.structs.every((stored) => isSameStruct(stored, expected.get(structKey(stored))))) return false;
        next = slice.next;
      }
    } finally {
      endReading();
    }
    return true;
  }

  #append(sender: Sender, delivered: readonly Struct[], accepted: readonly Struct[]): void {
    if (this.#isOver || delivered.length === 0) return;
    const chunks: PendingChunk[] = [];
    for (const { structs, update } of chunkStructs(accepted)) {
      const stored = this.#log.append(update).then(
        (seq): Result<number, unknown> => ({ ok: true, value: seq }),
        (error: unknown): Result<number, unknown> => ({ ok: false, error }),
      );
      const frame = encodeFrame({ type: "update", update });
      chunks.push({ structs, bytes: update.length, frame, stored });
      this.#inFlightBytes += frame.length;
    }
    for (const { client, clock } of accepted) {
      this.#accepted ??= new Map();
      this.#accepted.set(client, clock + 1);
    }
    const clients = new Set(delivered.map(({ client }) => client));
    this.#commits = this.#commits
      .then(() => this.#settle(sender, chunks, clients))
      .catch((error: unknown) => this.#listener.noteFailure(error));
  }

  async #settle(sender: Sender, chunks: readonly PendingChunk[], clients: ReadonlySet<number>): Promise<void> {
    for (const { structs, bytes, frame, stored } of chunks) {
      const result = await stored;
      if (this.#isOver) return;
      if (!result.ok) {
        this.#listener.noteUnstored(result.error);
        return;
      }
      const seq = result.value;
      this.#inFlightBytes -= frame.length;
      this.#log.noteStored(seq, bytes, structs);
      this.#listener.noteStored({ seq, structs, frame, sender });
    }
    // Nothing is on its way any more: what was accepted is what the index says.
    if (this.#inFlightBytes === 0) this.#accepted = undefined;
    this.#listener.noteSettled(sender, clients);
    this.#log.startUpkeep();
  }

  /** Takes nothing more, and tells of nothing that becomes durable from now on. */
  end(): void {
    this.#isOver = true;
  }

  /** Settles when all that was taken is durable and told, or could not be stored. */
  async settle(): Promise<void> {
    for (let commits: Promise<void> | undefined; commits !== this.#commits; ) {
      commits = this.#commits;
      await commits;
    }
  }
}

function refuseBy(offence: Parameters<typeof offenceToCloseReason>[0]): Result<never, Refusal> {
  return { ok: false, error: { reason: offenceToCloseReason(offence), message: `update refused: ${offence}` } };
}

const structKey = ({ client, clock }: Struct): string => `${client}:${clock}`;

function isSameStruct(stored: Struct, other: Struct | undefined): boolean {
  // Both are in the one spelling the grammar allows, so equal bytes mean equal origin and record and the reverse.
  return other !== undefined && Buffer.compare(stored.encoded, other.encoded) === 0;
}
