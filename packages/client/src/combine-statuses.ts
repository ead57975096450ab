import type { LocalStatus, RelayStatus, SyncStatus } from "./sync-status.ts";

/** From best to worst: what heals by itself before what somebody has to see to. */
const relayStates: readonly RelayStatus["state"][] = [
  "live",
  "catching-up",
  "connecting",
  "offline",
  "refused",
  "too-old",
];
const localStates: readonly LocalStatus["state"][] = ["saved", "saving", "failed"];

/**
 * One status for several replicas (SPEC SY7): the worst local and the worst relay state, the first of them with its
 * reason; sums of what is pending, unsaved, set aside and still to come; the newest acknowledgement. At least one.
 */
export function combineStatuses(statuses: readonly [SyncStatus, ...SyncStatus[]]): SyncStatus {
  const local = statuses.map((status) => status.local).reduce((worst, next) => worseOf(localStates, worst, next));
  const relay = statuses.map((status) => status.relay).reduce((worst, next) => worseOf(relayStates, worst, next));
  const acknowledgedAt = statuses.flatMap(({ lastAcknowledgedAt: at }) => (at === undefined ? [] : [at]));
  const notice = statuses.find((status) => status.notice !== undefined)?.notice;
  const setAside = statuses.flatMap((status) => status.setAside ?? []);
  return Object.freeze({
    local,
    relay: relay.state === "catching-up" ? Object.freeze({ ...relay, ...sumProgress(statuses) }) : relay,
    pending: sum(statuses.map(({ pending }) => pending)),
    unsaved: sum(statuses.map(({ unsaved }) => unsaved)),
    ...(acknowledgedAt.length === 0 ? {} : { lastAcknowledgedAt: Math.max(...acknowledgedAt) }),
    ...(notice === undefined ? {} : { notice }),
    ...(setAside.length === 0
      ? {}
      : {
          setAside: {
            restored: sum(setAside.map(({ restored }) => restored)),
            unreadable: sum(setAside.map(({ unreadable }) => unreadable)),
          },
        }),
  });
}

function worseOf<Status extends { readonly state: string }>(
  order: readonly Status["state"][],
  left: Status,
  right: Status,
): Status {
  return order.indexOf(right.state) > order.indexOf(left.state) ? right : left;
}

function sumProgress(statuses: readonly SyncStatus[]): { arrived: number; total: number } {
  const progress = statuses.flatMap(({ relay }) => (relay.state === "catching-up" ? [relay] : []));
  return { arrived: sum(progress.map(({ arrived }) => arrived)), total: sum(progress.map(({ total }) => total)) };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
