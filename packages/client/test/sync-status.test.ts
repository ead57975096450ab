import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { combineStatuses } from "../src/combine-statuses.ts";
import {
  type LocalEvent,
  nextSyncState,
  openedState,
  type RelayEvent,
  type SyncEvent,
  type SyncState,
  type SyncStatus,
} from "../src/sync-status.ts";

const spec = readFileSync(new URL("../../../SPEC.md", import.meta.url), "utf8");

/** Rows of the table whose first heading is `corner`: [row, column, cell]. */
function readTable(corner: string): [row: string, column: string, cell: string][] {
  const lines = spec.split("\n");
  const from = lines.findIndex((line) => new RegExp(`^\\| ${corner} +\\|`).test(line));
  const to = lines.findIndex((line, at) => at > from && !line.startsWith("|"));
  const [head = [], , ...rows] = lines.slice(from, to).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.replaceAll("`", "").trim()),
  );
  return rows.flatMap(([row = "", ...cells]) =>
    cells.map((cell, at): [string, string, string] => [row, head[at + 1] ?? "", cell]),
  );
}

const localEvents: { [Type in LocalEvent["type"]]: LocalEvent[] } = {
  counted: [
    { type: "counted", unsaved: 0 },
    { type: "counted", unsaved: 3 },
  ],
  writeFailed: [{ type: "writeFailed", reason: "the disk is full" }],
  writeWorks: [{ type: "writeWorks" }],
  readFailed: [{ type: "readFailed", reason: "the folder is gone" }],
  readWorks: [{ type: "readWorks" }],
};

const relayEvents: { [Type in RelayEvent["type"]]: RelayEvent } = {
  connect: { type: "connect" },
  progress: { type: "progress", arrived: 2, total: 5 },
  caughtUp: { type: "caughtUp" },
  lost: { type: "lost", reason: "cut" },
  refused: { type: "refused", code: 4403, reason: "not you" },
  tooOld: { type: "tooOld", reason: "upgrade" },
  disconnect: { type: "disconnect" },
};

const newsEvents: SyncEvent[] = [
  { type: "notice", code: 4507, reason: "full" },
  { type: "acknowledged", at: 1_000, pending: 0 },
  { type: "acknowledged", at: 2_000, pending: 1 },
];

/** Ways into each row of the two tables. */
const waysToLocal: { [row: string]: LocalEvent[] } = {
  saved: [],
  saving: [{ type: "counted", unsaved: 1 }],
  "write failed": [{ type: "writeFailed", reason: "before" }],
  "read failed": [{ type: "readFailed", reason: "before" }],
};
const waysToRelay: { [row: string]: RelayEvent[] } = {
  offline: [{ type: "lost", reason: "before" }],
  connecting: [{ type: "connect" }],
  "catching-up": [{ type: "progress", arrived: 0, total: 1 }],
  live: [{ type: "caughtUp" }],
  refused: [{ type: "refused", code: 4401, reason: "before" }],
  "too-old": [{ type: "tooOld", reason: "before" }],
};

const run = (events: readonly SyncEvent[], state: SyncState = openedState): SyncState =>
  events.reduce(nextSyncState, state);
const rowOf = ({ local }: SyncState): string => (local.state === "failed" ? `${local.cause} failed` : local.state);

const localCells = readTable("local");
const relayCells = readTable("relay");

describe("nextSyncState", () => {
  it("[SY1] the tables of the specification name every state and every event once", () => {
    const names = (cells: readonly string[][], at: number): string[] => [
      ...new Set(cells.map((cell) => cell[at] ?? "")),
    ];
    expect(names(localCells, 0).sort()).toEqual(Object.keys(waysToLocal).sort());
    expect(names(localCells, 1).sort()).toEqual(Object.keys(localEvents).sort());
    expect(localCells).toHaveLength(4 * 5);
    expect(names(relayCells, 0).sort()).toEqual(Object.keys(waysToRelay).sort());
    expect(names(relayCells, 1).sort()).toEqual(Object.keys(relayEvents).sort());
    expect(relayCells).toHaveLength(6 * 7);
  });

  it.each(localCells)("[SY2] local %s, %s: %s", (row, column, cell) => {
    const before = run(waysToLocal[row] ?? []);
    expect(rowOf(before)).toBe(row);
    for (const event of localEvents[column as LocalEvent["type"]]) {
      const after = nextSyncState(before, event);
      const unsaved = event.type === "counted" ? event.unsaved : before.unsaved;
      expect(rowOf(after)).toBe(cell === "by count" ? (unsaved === 0 ? "saved" : "saving") : cell);
      expect(after.unsaved).toBe(unsaved);
      expect(after.relay).toBe(before.relay);
      const isNewFailure = "reason" in event && cell === `${event.type === "writeFailed" ? "write" : "read"} failed`;
      if (after.local.state === "failed") expect(after.local.reason).toBe(isNewFailure ? event.reason : "before");
      expect(nextSyncState(after, event)).toBe(after);
    }
  });

  it("[SY2] what was counted while saving failed shows once it works again", () => {
    const failed = run([
      { type: "counted", unsaved: 2 },
      { type: "writeFailed", reason: "full" },
      { type: "counted", unsaved: 5 },
    ]);
    expect(failed).toMatchObject({ local: { state: "failed" }, unsaved: 5 });
    expect(nextSyncState(failed, { type: "writeWorks" }).local).toEqual({ state: "saving" });
  });

  it.each(relayCells)("[SY3] relay %s, %s: %s", (row, column, cell) => {
    const before = run(waysToRelay[row] ?? []);
    expect(before.relay.state).toBe(row);
    const event = relayEvents[column as RelayEvent["type"]];
    const after = nextSyncState(before, event);
    expect(after.relay.state).toBe(cell);
    expect(after.local).toBe(before.local);
    const { type: _type, ...told } = event;
    // What an event tells shows, unless the state before it stands.
    if (!(row === "too-old" && column === "lost")) expect(after.relay).toMatchObject(told);
    else expect(after).toBe(before);
    expect(nextSyncState(after, event)).toBe(after);
  });

  it("[SY4] an acknowledgement is dated, and takes the notice away when nothing is pending", () => {
    const noticed = run([{ type: "notice", code: 4507, reason: "full" }]);
    const waiting = nextSyncState(noticed, { type: "acknowledged", at: 7, pending: 2 });
    expect(waiting).toMatchObject({ notice: { code: 4507, reason: "full" }, lastAcknowledgedAt: 7 });
    const done = nextSyncState(waiting, { type: "acknowledged", at: 9, pending: 0 });
    expect(done.notice).toBeUndefined();
    expect(done.lastAcknowledgedAt).toBe(9);
  });

  it("[SY1] any events in any order give frozen states that say what the last of each side told", () => {
    const all = [...Object.values(localEvents).flat(), ...Object.values(relayEvents), ...newsEvents];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...all), { maxLength: 30 }), (events) => {
        let state = openedState;
        for (const event of events) {
          const before = JSON.stringify(state);
          const next = nextSyncState(state, event);
          expect(JSON.stringify(state)).toBe(before);
          for (const part of [next, next.local, next.relay]) expect(Object.isFrozen(part)).toBe(true);
          if (next.local.state === "saved") expect(next.unsaved).toBe(0);
          if (next.local.state === "saving") expect(next.unsaved).toBeGreaterThan(0);
          state = next;
        }
      }),
    );
  });
});

describe("combineStatuses", () => {
  const status = (state: SyncState, more: Partial<SyncStatus> = {}): SyncStatus => ({ ...state, pending: 0, ...more });

  it("[SY5] the worst of each side, sums and the newest acknowledgement", () => {
    const live = status(run([{ type: "caughtUp" }, { type: "acknowledged", at: 5, pending: 0 }]), { pending: 1 });
    const fetching = status(run([{ type: "progress", arrived: 1, total: 4 }]), { pending: 2 });
    const fetchingMore = status(run([{ type: "progress", arrived: 2, total: 3 }]), {
      setAside: { restored: 2, unreadable: 1 },
    });
    const saving = status(run([{ type: "caughtUp" }, { type: "counted", unsaved: 3 }]), { lastAcknowledgedAt: 9 });
    expect(combineStatuses([live])).toEqual(live);
    expect(combineStatuses([live, fetching, saving, fetchingMore])).toEqual({
      local: { state: "saving" },
      relay: { state: "catching-up", arrived: 3, total: 7 },
      pending: 3,
      unsaved: 3,
      lastAcknowledgedAt: 9,
      setAside: { restored: 2, unreadable: 1 },
    });
  });

  it("[SY5] from best to worst", () => {
    const relays = ["live", "catching-up", "connecting", "offline", "refused", "too-old"];
    const statuses = relays.map((row) => status(run(waysToRelay[row] ?? [])));
    for (const [at, worse] of statuses.entries())
      for (const better of statuses.slice(0, at)) {
        expect(combineStatuses([better, worse]).relay).toEqual(worse.relay);
        expect(combineStatuses([worse, better]).relay).toEqual(worse.relay);
      }
    const locals = ["saved", "saving", "write failed"].map((row) => status(run(waysToLocal[row] ?? [])));
    for (const [at, worse] of locals.entries())
      for (const better of locals.slice(0, at))
        expect([combineStatuses([better, worse]).local, combineStatuses([worse, better]).local]).toEqual([
          worse.local,
          worse.local,
        ]);
  });
});
