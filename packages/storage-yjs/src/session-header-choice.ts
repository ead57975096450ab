import { parseHeaderJson, type SessionHeader } from "@coppice/core";

interface HeaderCandidate {
  readonly header: SessionHeader;
  readonly json: string;
}

/**
 * The header of a session among all header records of its log. Two devices that import one file each write one, and a
 * writer may add more: the one with the smallest (timestamp, JSON text) counts, so that all replicas agree whatever
 * the order of arrival.
 */
export class SessionHeaderChoice {
  readonly #sessionId: string;
  #chosen: HeaderCandidate | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** The header that counts; undefined while there is none. */
  get header(): SessionHeader | undefined {
    return this.#chosen?.header;
  }

  /** Its exact text. */
  get json(): string | undefined {
    return this.#chosen?.json;
  }

  /** Takes another candidate into account. False when the text is no header of this session. */
  offer(json: string): boolean {
    const parsed = parseHeaderJson(json);
    if (!parsed.ok || parsed.value.id !== this.#sessionId) return false;
    const candidate = { header: parsed.value, json };
    if (this.#chosen === undefined || isSmaller(candidate, this.#chosen)) this.#chosen = candidate;
    return true;
  }
}

function isSmaller(a: HeaderCandidate, b: HeaderCandidate): boolean {
  const [aTime, bTime] = [a.header.timestamp, b.header.timestamp];
  return aTime === bTime ? a.json < b.json : aTime < bTime;
}
