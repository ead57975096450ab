import { expect, it, onTestFinished } from "vitest";
import { createStorage, storageKinds } from "./coppice-storages.ts";

// By name, because a plain script has no types of its own.
const exampleModule = "@coppice/example-pi-harness/run.mjs";
const { runExample }: { runExample(print: (line: string) => void): Promise<void> } = await import(exampleModule);

it("[PI12] the example holds its conversation on every storage and finds it the same after reopening", async () => {
  const lines: string[] = [];
  await runExample((line) => lines.push(line));
  expect(lines).toEqual(
    storageKinds.map((kind) =>
      expect.stringMatching(new RegExp(`^${kind} +\\d+ requests, \\d+ entries, read again: the same$`)),
    ),
  );
  expect(lines).toHaveLength(3);
});

it.each(storageKinds)("[PI12] the example's %s storage keeps what was appended without waiting", async (kind) => {
  const place = await createStorage(kind);
  onTestFinished(() => place.close());
  const ids = Array.from({ length: 20 }, (_, index) => `entry-${index}`);
  const appended = ids.map((id, index) =>
    place.storage.appendEntry({
      type: "custom",
      id,
      parentId: ids[index - 1] ?? null,
      timestamp: "2026-01-02T00:00:00.000Z",
      customType: "note",
    }),
  );
  await place.settle();
  const storage = await place.reopen();
  expect(place.storage).toBe(storage);
  expect((await storage.getPathToRoot(await storage.getLeafId())).map(({ id }) => id)).toEqual(ids);
  await Promise.all(appended);
});

it("[PI12] a kind that does not exist is named with those that do", async () => {
  await expect(createStorage("paper")).rejects.toThrow('No storage "paper"; there are: memory, jsonl, yjs');
});
