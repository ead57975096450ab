import type { ReplicaStatus, WorkspaceSession } from "@coppice/client";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeConnection, describeReplica } from "../describe-status.ts";
import { toReplicaShape, toSessionReference, toShape } from "../json-shapes.ts";
import { relayWaitMs, withHome } from "../open-home.ts";
import { toPrintableLine } from "../terminal-text.ts";

interface SessionStatus {
  readonly listed: WorkspaceSession;
  readonly entries: number;
  readonly status: ReplicaStatus;
}

/** `coppice status`: what is saved where, and why not. */
export const statusCommand: CliCommand = defineCliCommand({
  name: "status",
  summary: "Say what is saved here and what the relay has, with reasons and counts",
  args: {},
  examples: ["coppice status", "coppice status --offline --json"],
  run: (_args, context) =>
    withHome(context, async ({ home, workspace }) => {
      const { output, offline } = context;
      const deadlineMs = performance.now() + relayWaitMs;
      const restMs = (): number => Math.max(0, deadlineMs - performance.now());
      await workspace.waitUntilAcknowledged(restMs());
      const sessions: SessionStatus[] = [];
      for (const listed of workspace.listSessions()) {
        const session = await workspace.openSession(listed.id);
        await session.waitUntilAcknowledged(restMs());
        const entries = (await session.storage.getEntries()).length;
        sessions.push({ listed, entries, status: session.status() });
        await session.close();
      }
      const { device, relay, folder } = home;
      output.print(`device   ${toPrintableLine(device.name)}  ${device.id}`);
      output.print(`home     ${folder}`);
      output.print(
        `relay    ${relay ?? "none; `coppice init` with an address adds one"}${relay === undefined ? "" : `  ${offline ? "not asked (--offline)" : describeConnection(workspace.status())}`}`,
      );
      for (const { listed, entries, status } of sessions) {
        output.print(
          `session  ${toPrintableLine(listed.name ?? listed.id)} · ${entries} entries · ${describeReplica(status)}`,
        );
      }
      output.printJson(
        toShape("status", {
          home: folder,
          device,
          relay: relay ?? null,
          workspace: toReplicaShape(workspace.status()),
          sessions: sessions.map(({ listed, entries, status }) => ({
            ...toSessionReference(listed),
            entries,
            ...toReplicaShape(status),
          })),
        }),
      );
    }),
});
