import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHostileChecks } from "./src/hostile-checks.ts";
import { HostileLab } from "./src/hostile-lab.ts";

describe("a relay process among hostile clients", () => {
  let lab: HostileLab;
  beforeAll(async () => {
    lab = await HostileLab.open();
  });
  afterAll(() => lab.close());

  const checks = createHostileChecks({
    seed: Number(process.env.HOSTILE_SEED ?? 45),
    frames: Number(process.env.HOSTILE_FRAMES ?? 3_000),
    brokenStreams: 100,
    cursors: 2_000,
    connects: 500,
    unreadBytes: 8_000_000,
  });
  it.each(checks)("[RL7] [RL8] F45: $name harm nobody", { timeout: 300_000 }, async ({ run }) => {
    expect(await run(lab)).toMatch(/\d/);
    await lab.takeFigures();
  });

  it("[RL7] [RL8] afterwards, and after a kill, every room can be loaded by Yjs, with its history and nothing pending", async () => {
    const roomCount = await lab.assertRoomsAreWhole();
    expect(roomCount).toBeGreaterThan(checks.length);
    await lab.restartRelay();
    expect(await lab.assertRoomsAreWhole()).toBe(roomCount);
  });
});
