import type { SyncStatus } from "@coppice/client";

/** How much attention a state deserves. */
type Tone = "good" | "busy" | "quiet" | "warning" | "danger";

/** What the status says, in plain words. */
export interface StatusWords {
  readonly tone: Tone;
  /** Where what is written here stands: on this device. */
  readonly here: string;
  /** The same at the relay. */
  readonly relay: string;
  /** Why it is so, as a sentence; absent when all is well. */
  readonly reason?: string;
}

/** What besides the status decides the words. */
export interface StatusSurroundings {
  /** Absent: this browser keeps what is written. */
  readonly notKept?: string | undefined;
  readonly hasRelay: boolean;
  /** The page's own policy forbids the connection. */
  readonly isBlocked?: boolean;
}

/** The words for a status. Everything they say comes from commits and acknowledgements (SPEC WB10). */
export function describeStatus(status: SyncStatus, surroundings: StatusSurroundings): StatusWords {
  const local = describeLocal(status, surroundings);
  const relay = describeRelay(status, surroundings);
  const reason = [local.reason, relay.reason].filter((text) => text !== undefined).join(" ");
  return {
    tone: worst(local.tone, relay.tone),
    here: local.words,
    relay: relay.words,
    ...(reason === "" ? {} : { reason }),
  };
}

/** Whether closing the page now would lose something: it is not on this device's disk and not at the relay. */
export function isAtRisk(status: SyncStatus, notKept: string | undefined): boolean {
  return status.unsaved > 0 || (notKept !== undefined && status.pending > 0);
}

interface Part {
  readonly tone: Tone;
  readonly words: string;
  readonly reason?: string;
}

function describeLocal({ local, unsaved }: SyncStatus, { notKept }: StatusSurroundings): Part {
  if (notKept !== undefined)
    return { tone: "warning", words: "Not saved here", reason: `This browser keeps nothing: ${sentence(notKept)}` };
  if (local.state === "failed") {
    const words = local.cause === "write" ? "Not saved here" : "Cannot be read here";
    return { tone: "danger", words, reason: `${upperFirst(sentence(local.reason))} It is tried again by itself.` };
  }
  return unsaved > 0 || local.state === "saving"
    ? { tone: "busy", words: "Saving here" }
    : { tone: "good", words: "Saved here" };
}

function describeRelay({ relay, pending, notice }: SyncStatus, { hasRelay, isBlocked }: StatusSurroundings): Part {
  const waiting = pending === 0 ? "" : ` · ${pending.toLocaleString("en")} waiting`;
  if (!hasRelay)
    return { tone: "quiet", words: "no relay", reason: "This workspace has no relay, so it is on this device alone." };
  switch (relay.state) {
    case "refused":
      return { tone: "danger", words: `refused${waiting}`, reason: `The relay refuses: ${sentence(relay.reason)}` };
    case "too-old":
      return { tone: "danger", words: `upgrade needed${waiting}`, reason: sentence(relay.reason) };
    case "offline": {
      const why = isBlocked
        ? "This page may connect to the relay that serves it alone. Open the app at the workspace's relay, or with `coppice web`."
        : `${relay.reason === undefined ? "" : `${upperFirst(sentence(relay.reason))} `}It is tried again by itself.`;
      return { tone: "warning", words: `offline${waiting}`, reason: why };
    }
    case "connecting":
      return { tone: "busy", words: `connecting${waiting}` };
    case "catching-up": {
      const progress =
        relay.total === 0 ? "" : ` ${relay.arrived.toLocaleString("en")} of ${relay.total.toLocaleString("en")}`;
      return { tone: "busy", words: `fetching${progress}${waiting}` };
    }
    case "live":
      if (notice !== undefined && pending > 0)
        return {
          tone: "danger",
          words: `not taken${waiting}`,
          reason: `The relay did not take it: ${sentence(notice.reason)}`,
        };
      return pending === 0 ? { tone: "good", words: "at the relay" } : { tone: "busy", words: `sending${waiting}` };
  }
}

function worst(left: Tone, right: Tone): Tone {
  const order: readonly Tone[] = ["good", "quiet", "busy", "warning", "danger"];
  return order.indexOf(left) > order.indexOf(right) ? left : right;
}

/** As a sentence of its own, however the reason was written. */
function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
