import type { ResumePlan, ResumePolicy } from "@coppice/client";
import type { StringArgDef } from "citty";
import type { Output } from "./output.ts";
import { toPrintableLine } from "./terminal-text.ts";
import { UsageError } from "./usage-error.ts";

const policies: readonly ResumePolicy[] = ["own", "fast-forward", "latest"];

/**
 * The option `--resume` of commands that go on from the leaf. A person at a terminal wants to go on with the
 * conversation, so the default is `fast-forward`; an agent's is `own`, and it uses no command for it.
 */
export const resumeArg: StringArgDef = {
  type: "string",
  description:
    "Where to go on: own, where this device stands; fast-forward, at the end of what other devices added there, when that is one line; latest, where anybody worked last",
  valueHint: policies.join("|"),
  default: "fast-forward",
};

/** The policy an option names. Throws a `UsageError` for any other word. */
export function parseResumePolicy(text: string): ResumePolicy {
  const policy = policies.find((known) => known === text);
  if (policy === undefined) throw new UsageError(`--resume is "${text}"; it can be ${policies.join(", ")}.`);
  return policy;
}

/** Says in one line on stderr where the command goes on, when that is not where the device stood. */
export function remarkResumed(output: Output, plan: ResumePlan, deviceNames: ReadonlyMap<string, string>): void {
  const line = describeResumed(plan, deviceNames);
  if (line !== undefined) output.remark(line);
}

/** `continued on phone: 3 entries`; undefined when the device stays where it stands. */
function describeResumed(plan: ResumePlan, deviceNames: ReadonlyMap<string, string>): string | undefined {
  if (plan.kind === "stay") return undefined;
  const names = plan.deviceIds.map((id) => toPrintableLine(deviceNames.get(id) ?? id)).join(", ");
  if (plan.kind === "latest") return `went to where ${names} worked last`;
  return `continued on ${names}: ${plan.entries} ${plan.entries === 1 ? "entry" : "entries"}`;
}

/** The field `resumed` of a JSON shape; none when the device stays where it stands. */
export function toResumedShape({ kind, fromId, toId, entries, deviceIds }: ResumePlan): object {
  return kind === "stay" ? {} : { resumed: { kind, fromId, toId, entries, devices: deviceIds } };
}
