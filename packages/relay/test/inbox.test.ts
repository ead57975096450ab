import { expect, test } from "vitest";
import { Inbox } from "../src/inbox.ts";

test.each([0, 1])(
  "[RL6] frames of %i bytes count with what keeping them costs, so that a flood of them stops the reading too",
  async (bytes) => {
    const socket = {
      isPaused: false,
      pause() {
        this.isPaused = true;
      },
      resume() {
        this.isPaused = false;
      },
    };
    const inbox = new Inbox(socket, 1024 * 1024);
    let pushed = 0;
    while (!socket.isPaused && pushed < 20_000) {
      inbox.push(new Uint8Array(bytes));
      pushed += 1;
    }
    expect(pushed).toBeLessThan(10_000);

    let handled = 0;
    await new Promise<void>((resolve) => {
      inbox.start(async () => {
        handled += 1;
        if (handled === pushed) resolve();
      });
    });
    // The last frame is counted as handled after it was handled.
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket.isPaused).toBe(false);
  },
);
