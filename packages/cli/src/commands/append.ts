import type { AgentMessageLike } from "@coppice/core";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeEntry } from "../entry-line.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findWritableSession, withHome } from "../open-home.ts";
import { readStandardInput } from "../read-standard-input.ts";
import { parseResumePolicy, remarkResumed, resumeArg, toResumedShape } from "../resume-option.ts";
import { SaveReport } from "../save-report.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice append`: adds a message below this device's leaf and makes it the leaf. */
export const appendCommand: CliCommand = defineCliCommand({
  name: "append",
  summary: "Add a message where this device stands",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    text: { type: "positional", required: true, description: "What is said; - reads it from standard input" },
    role: {
      type: "string",
      required: true,
      description: "Who says it: user, assistant, system, or a role of your own",
      valueHint: "ROLE",
    },
    resume: resumeArg,
  },
  examples: ["coppice append 'Fix the flaky login test' --role user 'Try fixing the mock'"],
  throughSync: { readsInput: ({ text }) => text === "-" },
  run: ({ session: reference, text, role, resume }, context) =>
    withHome(context, async (opened) => {
      const { output } = context;
      const policy = parseResumePolicy(resume);
      if (role.trim() === "")
        throw new UsageError("--role is empty; write --role user, or the role of whoever says it.");
      const said = text === "-" ? (await readStandardInput(context.stdin)).trimEnd() : text;
      if (said === "") throw new UsageError("The text is empty; write what is said after the role, in quotes.");
      const { listed, session } = await findWritableSession(opened, reference, context);
      const plan = await session.resume(policy);
      remarkResumed(output, plan, opened.workspace.deviceNames());
      const model = role === assistantRole ? (await session.session.buildContext()).model : null;
      const entryId = await session.session.appendMessage(makeMessage(role, said, model));
      const report = new SaveReport(output, opened);
      await report.wait(session);
      const entry = await session.storage.getEntry(entryId);
      if (entry !== undefined) output.print(`${describeEntry(entry).mark}  ${entryId}`);
      report.print();
      output.printJson(
        toShape("append", {
          session: toSessionReference(listed),
          entryId,
          waiting: report.waitingEntries,
          ...toResumedShape(plan),
        }),
      );
    }),
});

const assistantRole = "assistant";
const noUsage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/**
 * A message as pi writes it. Agents take the model in force from the last assistant message and add its usage up, so
 * one that a person wrote names the model that was in force before it, and costs nothing.
 */
function makeMessage(
  role: string,
  text: string,
  model: { provider: string; modelId: string } | null,
): AgentMessageLike {
  const message = { role, content: [{ type: "text", text }], timestamp: Date.now() };
  if (role !== assistantRole) return message;
  const writer = model === null ? {} : { provider: model.provider, model: model.modelId };
  return { ...message, ...writer, usage: noUsage, stopReason: "stop" };
}
