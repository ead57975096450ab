import { deriveWorkspaceRoom } from "@coppice/storage-yjs";
import fc from "fast-check";
import { expect, it } from "vitest";
import * as Y from "yjs";
import { type ListedSession, nameOf, type WorkspaceListing } from "../src/workspace-listing.ts";
import { WorkspaceLog } from "../src/workspace-log.ts";
import type { WorkspaceRecord } from "../src/workspace-records.ts";

const keys = deriveWorkspaceRoom(new Uint8Array(32).fill(3));
const deviceCount = 3;

interface Device {
  readonly doc: Y.Doc;
  readonly log: WorkspaceLog;
  /** Updates on their way to it. */
  readonly inbox: Uint8Array[];
}

const sessionIds = fc.constantFrom("s1", "s2", "s3");
const texts = fc.constantFrom("one", "two", "three");
const optional = { requiredKeys: ["type", "sessionId"] as ("type" | "sessionId")[] };
const records: fc.Arbitrary<WorkspaceRecord> = fc.oneof(
  fc.record({ type: fc.constant("workspace_session" as const), sessionId: sessionIds, createdAt: texts, name: texts }),
  fc.record(
    {
      type: fc.constant("workspace_session_change" as const),
      sessionId: sessionIds,
      name: fc.option(texts),
      archived: fc.boolean(),
      gitRemote: texts,
    },
    optional,
  ) as fc.Arbitrary<WorkspaceRecord>,
  fc.record({
    type: fc.constant("workspace_session_key" as const),
    sessionId: sessionIds,
    key: fc.constantFrom("1", "2", "3").map((digit) => digit.repeat(64)),
  }),
  fc.record({ type: fc.constant("workspace_session_deletion" as const), sessionId: sessionIds }),
  fc.record({ type: fc.constant("workspace_device" as const), deviceId: texts, name: texts }),
);
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("write" as const), who: fc.nat({ max: deviceCount - 1 }), record: records }),
    // Any of what is on its way, and it may come again.
    fc.record({
      do: fc.constant("deliver" as const),
      who: fc.nat({ max: deviceCount - 1 }),
      which: fc.nat(),
      again: fc.boolean(),
    }),
    fc.record({ do: fc.constant("look" as const), who: fc.nat({ max: deviceCount - 1 }) }),
  ),
  { minLength: 5, maxLength: 60 },
);

function openDevices(): Device[] {
  const devices = Array.from({ length: deviceCount }, (_, at): Device => {
    const doc = new Y.Doc();
    doc.clientID = at + 1;
    return {
      doc,
      inbox: [],
      log: new WorkspaceLog(doc, { keys, deviceId: `d${at}`, onChange: () => undefined, now: () => 0 }),
    };
  });
  for (const { doc } of devices)
    doc.on("update", (update: Uint8Array, origin: unknown) => {
      if (origin !== "remote") for (const other of devices) if (other.doc !== doc) other.inbox.push(update);
    });
  return devices;
}

/** What a listing says, in an order that is compared too. */
function shown({ sessions, devices, newerRecords }: WorkspaceListing): unknown {
  return { sessions: [...sessions], devices: [...devices], newerRecords };
}

it("[WS30] in whatever order records come, all devices list the same, and so does one that reads the log at once", () => {
  let [written, late] = [0, 0];
  fc.assert(
    fc.property(steps, (walk) => {
      const devices = openDevices();
      for (const step of walk) {
        const device = devices[step.who];
        if (device === undefined) continue;
        if (step.do === "write") {
          device.log.append(step.record);
          written++;
        } else if (step.do === "look") void device.log.listing;
        else if (device.inbox.length > 0) {
          const at = step.which % device.inbox.length;
          if (at > 0) late++;
          const [update] = step.again ? device.inbox.slice(at, at + 1) : device.inbox.splice(at, 1);
          if (update !== undefined) Y.applyUpdate(device.doc, update, "remote");
        }
      }
      for (const { doc, inbox } of devices) for (const update of inbox) Y.applyUpdate(doc, update, "remote");
      const [first, ...others] = devices.map(({ log }) => shown(log.listing));
      for (const other of others) expect(other).toEqual(first);
      const reader = new WorkspaceLog(devices[0]?.doc ?? new Y.Doc(), {
        keys,
        deviceId: "reader",
        onChange: () => undefined,
      });
      expect(shown(reader.listing)).toEqual(first);
    }),
    { numRuns: 150 },
  );
  expect(written).toBeGreaterThan(500);
  expect(late).toBeGreaterThan(50);
});

it("[WS30] a field has the value that the record with the greatest (n, position) gives it", () => {
  fc.assert(
    fc.property(fc.array(records, { minLength: 1, maxLength: 40 }), (said) => {
      const doc = new Y.Doc();
      const log = new WorkspaceLog(doc, { keys, deviceId: "d", onChange: () => undefined });
      for (const record of said) log.append(record);
      for (const [sessionId, listed] of log.listing.sessions)
        expect(toAnswers(listed)).toEqual(askEach(said, sessionId));
    }),
    { numRuns: 100 },
  );
});

/** The oracle: each field looked for by itself, from the end. */
function askEach(said: readonly WorkspaceRecord[], sessionId: string): unknown {
  const own = said.filter((record) => record.type !== "workspace_device" && record.sessionId === sessionId);
  const listing = own.find((record) => record.type === "workspace_session");
  const changes = own.filter((record) => record.type === "workspace_session_change");
  const named = changes.findLast(({ name }) => name !== undefined)?.name;
  return {
    createdAt: listing?.createdAt,
    name: (named === undefined ? listing?.name : named) ?? undefined,
    isArchived: changes.findLast(({ archived }) => archived !== undefined)?.archived ?? false,
    isDeleted: own.some(({ type }) => type === "workspace_session_deletion"),
    gitRemote: changes.findLast(({ gitRemote }) => gitRemote !== undefined)?.gitRemote,
    newestKey: own.filter((record) => record.type === "workspace_session_key").at(-1)?.key,
  };
}

function toAnswers(listed: ListedSession): unknown {
  const { createdAt, isArchived, isDeleted, hints, keys } = listed;
  return {
    createdAt,
    name: nameOf(listed),
    isArchived,
    isDeleted,
    gitRemote: hints.gitRemote,
    newestKey: keys.at(-1),
  };
}
