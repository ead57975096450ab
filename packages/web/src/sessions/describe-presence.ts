import type { SessionCursor } from "@coppice/client";
import { toShownLine } from "../session/model/shown-text.ts";

/** Who else has a session open, each device once, those where an agent runs first; undefined: nobody. */
export function describePresence(cursors: readonly SessionCursor[]): string | undefined {
  const devices = new Map<string, { name: string; isRunning: boolean }>();
  for (const { deviceId, deviceName = "another device", running = false, sameDevice } of cursors) {
    if (sameDevice) continue;
    const isRunning = running || devices.get(deviceId)?.isRunning === true;
    devices.set(deviceId, { name: toShownLine(deviceName), isRunning });
  }
  if (devices.size === 0) return undefined;
  const byRunning = [...devices.values()].sort((left, right) => Number(right.isRunning) - Number(left.isRunning));
  const names = byRunning.map(({ name, isRunning }) => (isRunning ? `${name} (agent running)` : name));
  return `open on ${new Intl.ListFormat("en").format(names)}`;
}
