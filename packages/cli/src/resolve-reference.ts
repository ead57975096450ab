import { type SessionEntry, SessionError } from "@coppice/core";
import { UsageError } from "./usage-error.ts";

/** Something people may name: by its id, by the start or end of its id, or by its name. */
export interface Nameable {
  readonly id: string;
  readonly name?: string | undefined;
}

const maxListed = 5;

/**
 * Finds the one thing a text names. An exact id wins, then an exact name, then a unique start or end of an id (ids
 * made in one moment share their start, so the end is often the shorter handle).
 *
 * An empty text is wrong usage. Throws `not_found` when nothing fits or several do, then with the candidates in the
 * message. `kind` is the word for the thing; `hint` ends the sentence when nothing fits.
 */
export function resolveReference<Thing extends Nameable>(
  things: readonly Thing[],
  reference: string,
  kind: "session" | "entry",
  hint: string,
): Thing {
  if (reference.trim() === "") throw new UsageError(`An empty text names no ${kind}; ${hint}.`);
  const exact = things.find((thing) => thing.id === reference);
  if (exact !== undefined) return exact;
  const named = things.filter((thing) => thing.name === reference);
  const candidates =
    named.length > 0 ? named : things.filter((thing) => thing.id.startsWith(reference) || thing.id.endsWith(reference));
  const [only] = candidates;
  if (only === undefined)
    throw new SessionError("not_found", `No ${kind} is called or starts or ends with "${reference}"; ${hint}.`);
  if (candidates.length === 1) return only;
  const listed = candidates
    .slice(0, maxListed)
    .map((thing) => (thing.name === undefined ? thing.id : `${thing.id} (${thing.name})`));
  const more = candidates.length > maxListed ? ` and ${candidates.length - maxListed} more` : "";
  throw new SessionError(
    "not_found",
    `"${reference}" fits ${candidates.length} of the ${kind === "session" ? "sessions" : "entries"}: ${listed.join(", ")}${more}; give more of the id.`,
  );
}

/** The id of the entry a text names by an id, or by a start or end of one; see `resolveReference`. */
export function resolveEntryId(entries: readonly SessionEntry[], reference: string): string {
  // Ids alone: the `name` of an entry that renames the session is no name of the entry.
  const ids = entries.map(({ id }) => ({ id }));
  return resolveReference(ids, reference, "entry", "`coppice log --json` shows the ids").id;
}
