import type { MirrorStatus } from "./protocol.ts";

/** What this pi does with its session. */
export type SyncPhase =
  /** Nothing leaves pi. `why` when it is not simply that nobody switched it on. */
  | { readonly kind: "off"; readonly why?: string }
  /** Nothing leaves pi until it is resumed; then everything follows. */
  | { readonly kind: "paused" }
  /** On, and pi has not written its file yet. */
  | { readonly kind: "waiting" }
  | { readonly kind: "starting" }
  /** The user is asked whether the session may be shared. */
  | { readonly kind: "asking" }
  /** The session is taken in for the first time. */
  | { readonly kind: "importing"; readonly entries: number }
  | { readonly kind: "mirroring"; readonly status?: MirrorStatus }
  /** It does not work, and why. `isFinal`: it is not tried again by itself. */
  | { readonly kind: "failed"; readonly reason: string; readonly isFinal: boolean };

/** The line in pi's footer: always there, in a few words. */
export function describePhase(phase: SyncPhase): string {
  return `coppice: ${describe(phase)}`;
}

function describe(phase: SyncPhase): string {
  switch (phase.kind) {
    case "off":
    case "paused":
      return phase.kind;
    case "waiting":
      return "on · nothing to share yet";
    case "starting":
      return "starting";
    case "asking":
      return "not shared yet · waiting for your answer";
    case "importing":
      return `taking in · ${count(phase.entries, "entry", "entries")}`;
    case "failed":
      return phase.isFinal ? phase.reason : `${phase.reason} · trying again`;
    case "mirroring":
      return phase.status === undefined ? "starting" : describeStatus(phase.status);
  }
}

function describeStatus(status: MirrorStatus): string {
  const [runner] = status.runners;
  if (runner === undefined) return describeRelay(status);
  return `${describeRelay(status)} · an agent runs on ${runner.sameDevice ? "this device" : runner.deviceName}`;
}

function describeRelay({ relay, reason, waiting, devices }: MirrorStatus): string {
  const left = `${waiting} waiting`;
  switch (relay) {
    case "live":
      // Something that was sent is not taken, or cannot be saved here, although the relay is there.
      return reason === undefined ? `live · ${count(devices, "device", "devices")} · ${left}` : `${reason} · ${left}`;
    case "offline":
      return reason === undefined ? `offline · ${left}` : `offline · ${left} · ${reason}`;
    case "connecting":
      return `connecting · ${left}`;
    case "catching-up":
      return `fetching · ${left}`;
    case "refused":
      return `refused: ${reason ?? "the relay does not say why"} · ${left}`;
    case "none":
      return reason === undefined ? "saved on this device · no relay" : reason;
  }
}

/** "1 device", "2 devices". */
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
