import type { ResumePlan } from "@coppice/client";
import { deviceName } from "./cursor-marks.ts";
import { countEntries } from "./format.ts";

/** `continued on phone: 3 entries`, as the command says it; undefined when there is nothing to go on to. */
export function describeResume(plan: ResumePlan, deviceNames: ReadonlyMap<string, string>): string | undefined {
  if (plan.kind === "stay") return undefined;
  const names = plan.deviceIds.map((id) => deviceName(id, deviceNames.get(id))).join(", ");
  if (plan.kind === "latest") return `worked last: ${names}`;
  return `continued on ${names}: ${countEntries(plan.entries)}`;
}
