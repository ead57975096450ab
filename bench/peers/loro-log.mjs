/** A log of entries in a Loro list of JSON texts, each append committed and encoded as an update. */
import { LoroDoc } from "loro-crdt";

/** Makes an empty log. */
export function createLog() {
  const doc = new LoroDoc();
  // Somebody always listens, because an update that nobody wants is not even encoded.
  doc.subscribeLocalUpdates(() => {});
  const list = doc.getList("entries");
  return {
    append: (entry) => {
      list.push(JSON.stringify(entry));
      doc.commit();
    },
    appendMany: (entries) => {
      for (const entry of entries) list.push(JSON.stringify(entry));
      doc.commit();
    },
  };
}
