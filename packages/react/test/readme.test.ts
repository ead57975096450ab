import { readFile } from "node:fs/promises";
import { createElement } from "react";
import { expect, it } from "vitest";
import { openDevice, say, startRelay } from "./devices.ts";
import { mount, untilShown } from "./mount.ts";
import { App } from "./readme-example.tsx";

it("[RE10] F64: the README's example runs in StrictMode, shows what another device writes, and sends what is typed here", async () => {
  const { url } = await startRelay();
  const laptopSpace = await openDevice("laptop", url);
  const laptop = await laptopSpace.createSession({ id: "shared", cwd: "/" });
  await say(laptop, "Why does the login test fail?");
  await laptop.waitUntilAcknowledged(60_000);
  const phoneSpace = await openDevice("phone", url);
  const { container } = mount(createElement(App, { workspace: phoneSpace, sessionId: "shared" }));
  const texts = (): (string | null)[] => [...container.querySelectorAll("li")].map(({ textContent }) => textContent);
  await untilShown(container, () => texts()[0] === "Why does the login test fail?");
  await say(laptop, "The clock is mocked too late");
  container.querySelector("button")?.click();
  await untilShown(container, () => texts()[1] === "Go on");
  await untilShown(container, () => container.textContent?.includes("Everything is at the relay") === true);
  // What the laptop has written meanwhile is on a branch of its own: nobody else moves the place of this device.
  expect(texts()).toEqual(["Why does the login test fail?", "Go on"]);
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (laptop.tree.size === 3) resolve();
    };
    laptop.subscribe(look);
    look();
  });
  expect(laptop.tree.children(laptop.tree.nodes()[0]?.id ?? "")).toHaveLength(2);
});

it("[PK9] what the README shows is the example that runs", async () => {
  const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), "utf8");
  const [, block] = /```tsx\n([\s\S]*?)```/.exec(await read("../README.md")) ?? [];
  expect(block).toBe(await read("./readme-example.tsx"));
});
