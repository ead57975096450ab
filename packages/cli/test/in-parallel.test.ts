import { expect, it } from "vitest";
import { mapInParallel } from "../src/in-parallel.ts";

/** Work that ends when told to. */
function makeWork(): {
  begun: number[];
  end: (item: number, error?: Error) => void;
  work: (item: number) => Promise<string>;
} {
  const begun: number[] = [];
  const enders = new Map<number, (error?: Error) => void>();
  return {
    begun,
    end: (item, error) => enders.get(item)?.(error),
    work: (item) =>
      new Promise((resolve, reject) => {
        begun.push(item);
        enders.set(item, (error) => (error === undefined ? resolve(`done ${item}`) : reject(error)));
      }),
  };
}

/** Settles after everything that was ready to run has run. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

it("[CP44] so many are under way at a time, each once, and the results keep the items' order", async () => {
  const { begun, end, work } = makeWork();
  const results = mapInParallel([1, 2, 3, 4], 2, work);
  expect(begun).toEqual([1, 2]);
  end(2);
  await nextTurn();
  expect(begun).toEqual([1, 2, 3]);
  end(3);
  await nextTurn();
  expect(begun).toEqual([1, 2, 3, 4]);
  end(1);
  end(4);
  expect(await results).toEqual(["done 1", "done 2", "done 3", "done 4"]);
});

it("[CP44] after a failure nothing more begins, what is under way ends, and the first error is thrown", async () => {
  const { begun, end, work } = makeWork();
  const results = mapInParallel([1, 2, 3, 4], 2, work);
  let isSettled = false;
  const settled = results.catch((error: unknown) => {
    isSettled = true;
    return error;
  });
  end(1, new Error("first"));
  await nextTurn();
  expect(isSettled).toBe(false);
  end(2, new Error("second"));
  expect(await settled).toEqual(new Error("first"));
  expect(begun).toEqual([1, 2]);
});
