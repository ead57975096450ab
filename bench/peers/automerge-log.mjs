/** A log of entries in an Automerge list of JSON texts, each append a change whose bytes are taken. */
import { change, from, getLastLocalChange, ImmutableString } from "@automerge/automerge";

/** Makes an empty log. */
export function createLog() {
  let doc = from({ entries: [] });
  const appendMany = (entries) => {
    doc = change(doc, (draft) => {
      // An immutable string: a plain one becomes a text that can be edited letter by letter, which nobody needs here.
      draft.entries.push(...entries.map((entry) => new ImmutableString(JSON.stringify(entry))));
    });
    getLastLocalChange(doc);
  };
  return { append: (entry) => appendMany([entry]), appendMany };
}
