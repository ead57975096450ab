import { expect, it } from "vitest";
import { countSecrets } from "../src/secret-scan.ts";

// Put together here, so that no file of the project holds anything that looks like one.
const makeToken = (letter: string): string => `ghp_${`${letter}1B2c3`.repeat(6)}`;
const privateKey = `-----BEGIN RSA ${"PRIVATE"} KEY-----\nMIIEpAIBAAKCAQEA${"abcdEFGH1234".repeat(20)}\n-----END RSA ${"PRIVATE"} KEY-----`;

async function* say(...contents: unknown[]): AsyncGenerator<unknown> {
  for (const content of contents) yield { type: "message", id: "1", message: { role: "user", content } };
}

it("[EX24] counts different likely secrets by kind, wherever in an entry they stand", async () => {
  const entries = say(
    `a token ${makeToken("a")} and again ${makeToken("a")}`,
    [{ type: "text", text: `another ${makeToken("b")}` }],
    [{ type: "toolCall", arguments: { command: `cat key; echo "${privateKey}"` } }],
    "mysql and other words",
  );
  expect(await countSecrets(entries)).toEqual([
    { kind: "github", count: 2 },
    { kind: "privatekey", count: 1 },
  ]);
});

it("[EX24] finds none where there is none, nor in images, and looks at long sessions in pieces", async () => {
  expect(await countSecrets(say())).toEqual([]);
  expect(await countSecrets(say("hello", [{ type: "image", data: makeToken("a") }]))).toEqual([]);
  let pieces = 0;
  const long = say(
    ...Array.from({ length: 20 }, (_, at) => `${"word ".repeat(20_000)}${at === 13 ? makeToken("c") : ""}`),
  );
  const found = await countSecrets(long, async () => {
    pieces += 1;
  });
  expect(found).toEqual([{ kind: "github", count: 1 }]);
  expect(pieces).toBe(4);
});
