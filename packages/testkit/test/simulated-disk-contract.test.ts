import { describeUpdateLog } from "@coppice/testkit";
import { SimulatedDisk } from "@coppice/testkit/simulation";

// In real time, with short commits: the suite waits for events.
describeUpdateLog("simulated disk", async () => {
  const disk = new SimulatedDisk({ commitMs: () => 1 });
  return {
    open: async () => disk.openBeside().store,
    remove: async () => undefined,
  };
});
