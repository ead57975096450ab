import * as Y from "yjs";

/** A document that keeps the update of each push: an honest writer whose updates a test sends as it likes. */
export class Writer {
  readonly doc: Y.Doc;
  readonly updates: Uint8Array[] = [];

  constructor(clientId: number, doc: Y.Doc = new Y.Doc()) {
    this.doc = doc;
    doc.clientID = clientId;
    doc.on("update", (update: Uint8Array, origin: unknown) => {
      if (origin !== "merge") this.updates.push(update);
    });
  }

  /** Appends a record and returns its update. */
  push(record: Uint8Array | readonly number[]): Uint8Array {
    this.doc.getArray("entries").push([Uint8Array.from(record)]);
    return this.updates.at(-1) as Uint8Array;
  }

  /** Takes over what another document has. */
  merge(other: Y.Doc): void {
    Y.applyUpdate(this.doc, Y.encodeStateAsUpdate(other), "merge");
  }

  /** Everything as one update. */
  state(): Uint8Array {
    return Y.encodeStateAsUpdate(this.doc);
  }
}

/** Number of structs per client after applying these updates; fails when something of them cannot be applied. */
export function replay(updates: Iterable<Uint8Array>): Y.Doc {
  const doc = new Y.Doc();
  for (const update of updates) {
    Y.applyUpdate(doc, update);
    if (doc.store.pendingStructs !== null) throw new Error("an update came before what it needs");
  }
  return doc;
}

export const recordsOf = (doc: Y.Doc): Uint8Array[] => doc.getArray<Uint8Array>("entries").toArray();
export const firstBytesOf = (doc: Y.Doc): number[] => recordsOf(doc).map((record) => record[0] as number);
