import { lintSource } from "@secretlint/core";
import { creator as recommendedRules } from "@secretlint/secretlint-rule-preset-recommend";
import type { SecretCount } from "./protocol.ts";

/** Texts are looked at together up to this many characters: each look has a cost of its own. */
const batchCharacters = 500_000;
/** What stands between two texts: no rule reaches across a blank line. */
const separator = "\n\n";
const ruleIdPrefix = "@secretlint/secretlint-rule-";
const presetId = `${ruleIdPrefix}preset-recommend`;

const options = {
  config: { rules: [{ id: presetId, rule: recommendedRules, options: {} }] },
  noPhysicFilePath: true,
  // Nothing of what is found may come into a message.
  maskSecrets: true,
};

/**
 * Counts likely secrets in the texts of a session's entries by secretlint's recommended rules: different values of each
 * kind, the most frequent kind first. A value is not kept, shown or sent anywhere. `rest` is awaited between pieces of
 * work.
 */
export async function countSecrets(
  entries: AsyncIterable<unknown>,
  rest: () => Promise<void> = async () => undefined,
): Promise<SecretCount[]> {
  const valuesByKind = new Map<string, Set<string>>();
  let batch: string[] = [];
  let characters = 0;
  const look = async (): Promise<void> => {
    const content = batch.join(separator);
    batch = [];
    characters = 0;
    const source = { filePath: "session.txt", content, ext: ".txt", contentType: "text" } as const;
    const { messages } = await lintSource({ source, options });
    for (const { ruleId, range } of messages) {
      const kind = ruleId.replace(ruleIdPrefix, "").replaceAll("-", " ");
      const values = valuesByKind.get(kind) ?? new Set();
      valuesByKind.set(kind, values.add(content.slice(range[0], range[1])));
    }
    await rest();
  };
  for await (const entry of entries) {
    for (const text of textsOf(entry)) {
      batch.push(text);
      characters += text.length;
    }
    if (characters >= batchCharacters) await look();
  }
  if (batch.length > 0) await look();
  return Array.from(valuesByKind, ([kind, values]) => ({ kind, count: values.size })).sort(
    (left, right) => right.count - left.count,
  );
}

/** Every text in a value, however deep; not the names of fields, and not images, which are noise to every rule. */
function* textsOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item);
  else if (typeof value === "object" && value !== null) {
    if ("type" in value && value.type === "image") return;
    for (const item of Object.values(value)) yield* textsOf(item);
  }
}
