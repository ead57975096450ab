/**
 * Does the same with every item, `limit` at a time, and settles with the results in the items' order. After a failure
 * no further item is begun; what is under way ends first, then the first error is thrown.
 */
export async function mapInParallel<Item, Value>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const results: Value[] = [];
  const errors: unknown[] = [];
  const waiting = items.entries();
  const runInTurn = async (): Promise<void> => {
    // All runs draw from one iterator, so each item is drawn once.
    for (const [index, item] of waiting) {
      try {
        results[index] = await work(item);
      } catch (error) {
        errors.push(error);
      }
      if (errors.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runInTurn));
  if (errors.length > 0) throw errors[0];
  return results;
}
