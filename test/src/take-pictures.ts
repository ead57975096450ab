/** Takes the pictures of docs/browser.md, of a session that is made: `node test/dist/take-pictures.js FOLDER`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommandJson, runCommandWell } from "./command-process.ts";
import { WebLab, whenShown } from "./web-lab.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Usage: node test/dist/take-pictures.js FOLDER");
const lab = new WebLab();
try {
  await lab.startRelay();
  await lab.makeWorkspace();
  const laptop = lab.homeOf("laptop");
  const path = join(lab.scratch, "session.jsonl");
  writeFileSync(path, makeLines().join("\n"));
  await runCommandWell(["import", path, ...laptop]);
  await runCommandJson(["rename", "flaky-login-test", "Fix the flaky login test", ...laptop]);
  await runCommandJson(["label", "flaky-login-test", "a1", "the cause", ...laptop]);
  const desktop = await lab.joinBrowser("desktop");
  const { page } = desktop;
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(`${lab.app}/session/flaky-login-test`);
  await whenShown(page, "Two of three runs pass");
  await page.getByRole("textbox", { name: /^Message/ }).waitFor();
  const phone = await lab.joinBrowser("phone");
  await phone.page.setViewportSize({ width: 390, height: 780 });
  await phone.page.emulateMedia({ colorScheme: "dark" });
  await phone.page.goto(`${lab.app}/session/flaky-login-test`);
  await whenShown(phone.page, "Two of three runs pass");
  await page.getByRole("treeitem").filter({ hasText: "phone" }).waitFor();
  await page.screenshot({ path: join(folder, "session.png") });
  await phone.page.screenshot({ path: join(folder, "phone.png") });
} finally {
  await lab.close();
}

/** A question, two ways to answer it, and what an agent does for it. */
function makeLines(): string[] {
  const timestamp = "2026-03-02T08:00:00.000Z";
  const entry = (id: string, parentId: string | null, message: object): object => ({
    ...{ type: "message", id, parentId, timestamp },
    message: { ...message, timestamp: Date.parse(timestamp) },
  });
  const user = (text: string): object => ({ role: "user", content: [{ type: "text", text }] });
  const agent = (text: string, command?: string): object => ({
    role: "assistant",
    content: [
      { type: "text", text },
      ...(command === undefined ? [] : [{ type: "toolCall", id: "call", name: "bash", arguments: { command } }]),
    ],
  });
  const result = (text: string): object => ({
    ...{ role: "toolResult", toolCallId: "call", toolName: "bash", isError: false },
    content: [{ type: "text", text }],
  });
  const header = { type: "session", version: 3, id: "flaky-login-test", timestamp, cwd: "/home/ada/shop" };
  const code = "```ts\nvi.useFakeTimers();\nconst page = renderLogin();\n```";
  return [
    header,
    entry("u1", null, user("Why does the login test fail now and then?")),
    entry(
      "a1",
      "u1",
      agent(
        `The clock is mocked **after** the page has read it:\n\n${code}\n\nI run it a few times.`,
        "pnpm vitest run login --repeat 3",
      ),
    ),
    entry("t1", "a1", result("✓ login (2)\n✗ login (1)\n")),
    entry("a2", "t1", agent("Two of three runs pass. Either the mock moves up, or the test takes a real timer.")),
    entry("u2", "a2", user("Move the mock up.")),
    entry("a3", "u2", agent("Done, three files. It passes 50 times in a row.")),
    entry("u3", "a2", user("Take a real timer instead.")),
    entry("a4", "u3", agent("Done, one file; the test takes 40 ms longer.")),
  ].map((line) => JSON.stringify(line));
}
