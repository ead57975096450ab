import { useSyncExternalStore } from "react";

/** What React needs of a `LiveValue`. */
interface Live<Value> {
  readonly get: () => Value;
  readonly subscribe: (listener: () => void) => () => void;
}

/** The value as it is now; the component renders again when it is another one. */
export function useLiveValue<Value>({ get, subscribe }: Live<Value>): Value {
  return useSyncExternalStore(subscribe, get, get);
}
