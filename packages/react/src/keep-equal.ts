/** `before` when it says the same as `next`: for plain values, whose fields are always written in one order. */
export function keepEqual<Value>(before: Value | undefined, next: Value): Value {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(next) ? before : next;
}

/** The items of `next`, each the object it was before when it says the same; `before` itself when nothing differs. */
export function keepEqualItems<Item>(
  before: readonly Item[] | undefined,
  next: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  if (before === undefined) return next;
  const beforeByKey = new Map(before.map((item) => [keyOf(item), item]));
  return keepSameItems(
    before,
    next.map((item) => keepEqual(beforeByKey.get(keyOf(item)), item)),
  );
}

/** `before` when it has the very items of `next`. */
export function keepSameItems<Item>(before: readonly Item[] | undefined, next: readonly Item[]): readonly Item[] {
  const isSame = before?.length === next.length && next.every((item, index) => item === before[index]);
  return isSame ? before : next;
}
