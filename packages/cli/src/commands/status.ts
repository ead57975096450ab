import type { SyncStatus, Workspace, WorkspaceSession } from "@coppice/client";
import { type CliCommand, defineCliCommand } from "../command.ts";
import { describeConnection, describeFetching, describeRefusal, describeReplica } from "../describe-status.ts";
import { mapInParallel } from "../in-parallel.ts";
import { toSessionReference, toShape, toStateShape } from "../json-shapes.ts";
import { openSessionsLimit, relayWaitMs, withHome } from "../open-home.ts";
import { toPrintableLine } from "../terminal-text.ts";

interface SessionStatus {
  readonly listed: WorkspaceSession;
  readonly entries: number;
  readonly status: SyncStatus;
  /** False while this device has never had all of the session. */
  readonly hasBeenFetched: boolean;
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
      const isAsked = !offline && home.relay !== undefined;
      await workspace.waitUntilAcknowledged(relayWaitMs);
      const sessions = await readStatuses(workspace);
      const { relay, folder } = home;
      const { device, formerDeviceIds } = workspace;
      const [formerId] = formerDeviceIds;
      const copy = formerId === undefined ? "" : `  (this home is a copy of ${toPrintableLine(formerId)})`;
      output.print(`device   ${toPrintableLine(device.name)}  ${device.id}${copy}`);
      output.print(`home     ${folder}`);
      output.print(
        `relay    ${relay ?? "none; `coppice init` with an address adds one"}${relay === undefined ? "" : `  ${offline ? "not asked (--offline)" : describeConnection(workspace.status())}`}`,
      );
      for (const session of sessions) {
        const { listed, entries, status } = session;
        const lack = describeLack(session, isAsked);
        output.print(
          `session  ${toPrintableLine(listed.name ?? listed.id)} · ${entries} entries · ${describeReplica(status)}${lack === undefined ? "" : ` · ${lack}`}`,
        );
      }
      output.printJson(
        toShape("status", {
          home: folder,
          device,
          relay: relay ?? null,
          workspace: toStateShape(workspace.status()),
          sessions: sessions.map(({ listed, entries, status }) => ({
            ...toSessionReference(listed),
            entries,
            ...toStateShape(status),
          })),
        }),
      );
    }),
});

/** Opens each session and looks at it when the relay has answered, or `relayWaitMs` after it was open. */
async function readStatuses(workspace: Workspace): Promise<SessionStatus[]> {
  // A relay that cannot be reached is not waited for once more per session.
  let waitMs = isReached(workspace.status()) ? relayWaitMs : 0;
  return mapInParallel(workspace.listSessions(), openSessionsLimit, async (listed) => {
    const session = await workspace.openSession(listed.id);
    const deadlineMs = performance.now() + waitMs;
    await session.waitUntilSynced(waitMs);
    await session.waitUntilAcknowledged(Math.max(0, deadlineMs - performance.now()));
    const status = session.status();
    if (!isReached(status)) waitMs = 0;
    const entries = (await session.storage.getEntries()).length;
    const { hasBeenFetched } = session;
    await session.close();
    return { listed, entries, status, hasBeenFetched };
  });
}

/** What of a session may be missing here, or undefined. */
function describeLack({ entries, status, hasBeenFetched }: SessionStatus, isAsked: boolean): string | undefined {
  if (!hasBeenFetched) {
    if (entries > 0) return "not all fetched";
    return status.relay.state === "live" ? "not at the relay yet" : "never fetched";
  }
  if (!isAsked || status.relay.state === "live" || describeRefusal(status) !== undefined) return undefined;
  return status.relay.state === "catching-up" ? describeFetching(status.relay) : "not reached";
}

function isReached({ relay }: SyncStatus): boolean {
  return relay.state === "live" || relay.state === "catching-up";
}
