import { writeFileSync } from "node:fs";

/** Where everything of a hostile session leads that wants to leave the page: no name that can be found. */
const hostileHost = "elsewhere.invalid";
/** What its scripts would set on the page's global object. */
export const hostileFlag = "hostileHasRun";
/** The last message, which is shown first. */
export const hostileEnd = "The end of what is hostile.";

const run = `globalThis.${hostileFlag}=1`;
/** Turns the direction and closes nothing, hides between letters, and speaks to a terminal. */
export const hostileName: string = `a\u202eexe.txt\u2066 \u200bz\u200d\u2060e\ufeffro \u001b[2J\u001b]0;owned\u0007<img src=x onerror=${run}>`;

const markups = [
  `<script>${run}</script><script src="https://${hostileHost}/a.js"></script>`,
  `<img src=x onerror="${run}"><svg onload="${run}"><svg/onload=${run}//`,
  `<iframe srcdoc="<script>parent.${hostileFlag}=1</script>"></iframe><object data="https://${hostileHost}/o"></object>`,
  `<a href="javascript:${run}">here</a><form action="https://${hostileHost}"><button autofocus onfocus="${run}">x</button></form>`,
  `<style>@import "https://${hostileHost}/s.css"; * { display: none }</style><base href="https://${hostileHost}/"><meta http-equiv=refresh content="0;url=https://${hostileHost}">`,
  `[js](javascript:${run}) [JS](JaVaScRiPt:${run}) [tab](java\tscript:${run}) [entity](&#106;avascript:${run}) [vb](vbscript:x)`,
  `[data](data:text/html,<script>${run}</script>) <javascript:${run}> <data:text/html;base64,PHNjcmlwdD4=> [file](file:///etc/passwd) [rel](//${hostileHost}/r) [blob](blob:x)`,
  `![remote](https://${hostileHost}/p.png) ![svg](data:image/svg+xml,<svg onload=${run}>) ![js](javascript:${run}) [![in](https://${hostileHost}/q.png)](javascript:${run})`,
  `[ref]: javascript:${run}\n\n[ref] ![ref]\n\n[good](https://${hostileHost}/g "title\\" onmouseover=\\"${run}") <me@${hostileHost}>`,
  `\`\`\`html" onclick="${run}\n<script>${run}</script>\n\`\`\`\n\n| a | b |\n|---|---|\n| <img src=x onerror=${run}> | [x](javascript:${run}) |`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${run}>`,
];

/**
 * Writes a session file of everything that a page may fall over: markup and links with scripts, pictures of other hosts,
 * characters that hide or turn the direction, escapes of terminals, and texts made to be slow.
 */
export function writeHostileSession(path: string): void {
  const lines: object[] = [
    { type: "session", version: 3, id: "hostile-session", timestamp: timeOf(0), cwd: `/tmp/${hostileName}` },
  ];
  let parentId: string | null = null;
  const add = (entry: object): string => {
    const id = lines.length.toString(16).padStart(8, "0");
    lines.push({ id, parentId, timestamp: timeOf(lines.length), ...entry });
    parentId = id;
    return id;
  };
  const say = (role: string, ...content: object[]): string =>
    add({ type: "message", message: { role, content, timestamp: 1_772_438_400_000 } });
  const textOf = (text: string): object => ({ type: "text", text });

  const first = say("user", textOf(hostileName));
  add({ type: "label", targetId: first, label: hostileName });
  add({ type: "session_info", name: hostileName });
  for (const markup of markups) {
    say("user", textOf(markup));
    say("assistant", { type: "thinking", thinking: markup }, textOf(markup));
  }
  say("user", textOf("x".repeat(200_000)));
  say("assistant", textOf("y".repeat(200_000)));
  say("assistant", textOf("*_".repeat(500_000)));
  say("assistant", textOf("*a_ ".repeat(250_000)));
  say("assistant", textOf(`${"> ".repeat(5_000)}quoted`));
  say("assistant", textOf(`${"- ".repeat(5_000)}listed`));
  say("assistant", textOf(`${"[".repeat(20_000)}a${"](b)".repeat(20_000)}`));
  say("assistant", textOf(Array.from({ length: 2_000 }, (_, index) => `${" ".repeat(index)}- deep`).join("\n")));
  const call = { id: `call"${hostileName}`, name: `bash<script>${run}</script>${hostileName}` };
  say("assistant", {
    type: "toolCall",
    ...call,
    arguments: {
      command: `${hostileName}${"z".repeat(300_000)}`,
      [`${markups[1]}`]: { __proto__: 1, deep: [markups] },
    },
  });
  add({
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.name,
      content: [
        textOf(
          `\u001b[31mred\u001b[0m\u001b]8;;https://${hostileHost}\u0007link\u001b]8;;\u0007\r\rover ${"w".repeat(100_000)}`,
        ),
      ],
      isError: true,
    },
  });
  say("user", { type: "image", mimeType: "image/svg+xml", data: btoa(`<svg onload="${run}"/>`) });
  say("user", { type: "image", mimeType: `image/png" onerror="${run}`, data: "AAAA" });
  say("user", { type: `what"${hostileName}`, html: markups[0] });
  add({ type: `made-up<script>${run}</script>`, payload: { text: hostileName, list: markups } });
  add({ type: "custom", customType: hostileName, data: { html: markups[1] } });
  add({ type: "custom_message", customType: hostileName, content: markups[1], display: true });
  add({ type: "model_change", provider: hostileName, modelId: hostileName });
  add({ type: "compaction", summary: markups.join("\n\n"), firstKeptEntryId: first, tokensBefore: 1 });
  add({ type: "branch_summary", fromId: first, summary: markups.join("\n\n") });
  add({ type: "message", message: { role: "bashExecution", command: hostileName, output: hostileName, exitCode: 1 } });
  say("user", textOf(hostileEnd));
  writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

function timeOf(position: number): string {
  return new Date(Date.UTC(2026, 2, 2, 8) + position * 1_000).toISOString();
}
