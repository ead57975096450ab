import type { Struct } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { RoomIndex } from "../src/room-index.ts";

const structAt = (client: number, clock: number): Struct => ({
  client,
  clock,
  origin: null,
  record: new Uint8Array(),
  encoded: new Uint8Array(),
});

/** Stored updates as lists of clients; each names a struct of that client, clocks follow by themselves. */
const arbitraryLog = fc.array(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }), {
  maxLength: 30,
});

test("[RL30] the index finds every struct, what a reader lacks, and what came after a position, as a plain list would", () => {
  let structCount = 0;
  fc.assert(
    fc.property(arbitraryLog, fc.integer({ min: 1, max: 3 }), fc.infiniteStream(fc.nat()), (log, step, random) => {
      const index = new RoomIndex();
      const all: Array<{ client: number; clock: number; seq: number }> = [];
      log.forEach((clients, position) => {
        // Positions need not be neighbours: what does not fit is in the log but not in the index.
        const seq = (position + 1) * step;
        const structs = clients.map((client) => {
          const clock = all.filter((known) => known.client === client).length;
          all.push({ client, clock, seq });
          return structAt(client, clock);
        });
        index.add(seq, structs);
      });
      structCount += all.length;
      for (const { client, clock, seq } of all) expect(index.seqOf(client, clock)).toBe(seq);
      for (const client of [1, 2, 3, 4, 5]) {
        const held = all.filter((known) => known.client === client).length;
        expect(index.held(client)).toBe(held);
        expect(index.seqOf(client, held)).toBeUndefined();
      }
      const vector = new Map([1, 2, 3].map((client) => [client, random.next().value % 8]));
      const lacking = all.filter(({ client, clock }) => clock >= (vector.get(client) ?? 0)).map(({ seq }) => seq);
      expect(index.seqsBeyond(vector)).toEqual([...new Set(lacking)].sort((left, right) => left - right));
      const position = random.next().value % 40;
      const after = all.filter(({ seq }) => seq > position).map(({ seq }) => seq);
      expect(index.seqsAfter(position)).toEqual([...new Set(after)]);
    }),
  );
  expect(structCount).toBeGreaterThan(0);
});

test("[RL30] a struct that does not follow its client's last one is a fault of the caller", () => {
  const index = new RoomIndex();
  expect(() => index.add(1, [structAt(5, 1)])).toThrow("clock 1 of client 5 does not follow 0");
});
