import { type CliCommand, defineCliCommand } from "../command.ts";
import { readExactEntries } from "../exact-json.ts";
import { toSessionReference, toShape } from "../json-shapes.ts";
import { findSession, withHome } from "../open-home.ts";
import { entriesToTranscript, messagesToTranscript, renderTranscript } from "../render-transcript.ts";
import { resolveEntryId } from "../resolve-reference.ts";
import { UsageError } from "../usage-error.ts";

/** `coppice show`: the branch of this device's leaf, or of any entry, as a transcript or as the model's context. */
export const showCommand: CliCommand = defineCliCommand({
  name: "show",
  summary: "Show the conversation up to where this device stands",
  args: {
    session: { type: "positional", required: true, description: "The session" },
    branch: { type: "string", description: "Show the branch that ends at this entry instead", valueHint: "ENTRY" },
    context: { type: "boolean", description: "Show what a model would be sent instead of the transcript" },
  },
  examples: ["coppice show 'Fix the flaky login test'", "coppice show 3f2a --context --json"],
  run: ({ session: reference, branch, context: wantsContext }, context) =>
    withHome(context, async (opened) => {
      if (branch !== undefined && wantsContext)
        throw new UsageError(
          "--context shows where this device stands, so it does not go with --branch; run `coppice move` first, or leave one of them out.",
        );
      const { output } = context;
      const { listed, session } = await findSession(opened, reference, context, true);
      const { storage } = session;
      const leafId =
        branch === undefined ? session.getDeviceLeafId() : resolveEntryId(await storage.getEntries(), branch);
      const head = { session: toSessionReference(listed), leafId };
      if (wantsContext) {
        const modelContext = await session.session.buildContext();
        for (const line of renderTranscript(messagesToTranscript(modelContext.messages))) output.print(line);
        output.printJson(toShape("show", { ...head, context: modelContext }));
        return;
      }
      const entries = await storage.getPathToRoot(leafId);
      for (const line of renderTranscript(entriesToTranscript(entries))) output.print(line);
      if (entries.length === 0) output.print("nothing on this branch");
      if (output.json)
        output.printJson(toShape("show", { ...head, entries: await readExactEntries(storage, entries) }));
    }),
});
