/**
 * Opening a session of 100,000 entries (226 MB of JSON) to its leaf and a context of 200 messages, as a whole process:
 * from the local store, and the first time, when no index snapshot is there yet; beside pi's loader, which reads the
 * same entries from a file to its leaf only (its context is a row of its own, because finding the branch takes it long).
 */
import { runFigures } from "./measure.mjs";
import { findPeerNode, hasPeers, peerPath } from "./peers.mjs";
import { forkProgram, programPath } from "./programs.mjs";
import { dropIndexSnapshot, makeStoredSession } from "./stored-session.mjs";

const messageCount = 200;
const loaderName = "pi-agent-core's loader, to the leaf";
const openName = "Coppice, to the context";

const { file, store, copy } = await makeStoredSession();
const openProgram = programPath("open-session.mjs");
const loadProgram = peerPath("load-session.mjs");
const title = "Open 100,000 entries";

await runFigures({
  rounds: 3,
  contestants: [
    ...(hasPeers("@earendil-works/pi-agent-core")
      ? [
          { name: loaderName, run: () => measureProcess(loadProgram, [file]) },
          { name: "pi-agent-core, to the context", run: () => measureProcess(loadProgram, [file, "context"]) },
        ]
      : []),
    { name: openName, run: () => measureProcess(openProgram, [store]) },
    {
      name: "Coppice, the first time",
      prepare: () => dropIndexSnapshot(copy),
      run: () => measureProcess(openProgram, [copy]),
    },
  ],
  measure: async ({ prepare, run }) => {
    await prepare?.();
    return run();
  },
  figures: {
    wallUs: { title: `${title} (wall clock)`, unit: "us", budgetsOf: budgetOf(0.35) },
    cpuUs: { title: `${title} (CPU time)`, unit: "us", budgetsOf: budgetOf(0.35) },
    peakRssBytes: { title: `${title}: memory at its peak`, unit: "bytes", budgetsOf: budgetOf(0.7) },
  },
});

async function measureProcess(program, args) {
  const startUs = performance.now() * 1000;
  const child = forkProgram(program, args, findPeerNode());
  const { cpuUs, peakRssBytes, ...found } = await child.answer("opened");
  const wallUs = performance.now() * 1000 - startUs;
  if (found.messageCount !== undefined && Math.abs(found.messageCount - messageCount) > 1)
    throw new Error(`${program} found a context of ${found.messageCount} messages`);
  return { wallUs, cpuUs, peakRssBytes };
}

function budgetOf(times) {
  return ({ name }) => (name === openName ? [{ times, of: loaderName }] : undefined);
}
