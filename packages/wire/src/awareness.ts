import { type Encoder, writeVarString, writeVarUint } from "lib0/encoding";
import type { ByteReader } from "./byte-reader.ts";
import { maxAwarenessClock, maxAwarenessDepth } from "./limits.ts";

/** One client's cursor as it travels in an awareness frame (y-protocols/awareness). */
export interface AwarenessState {
  /** Yjs client id of the replica the cursor belongs to. */
  readonly client: number;
  /** Grows with every change of the state; receivers drop what is not newer. */
  readonly clock: number;
  /** JSON text of an object, or `null` when the client left. */
  readonly state: string;
}

/** The state text of a client that left. */
export const absentState = "null";

export function writeAwarenessStates(encoder: Encoder, states: readonly AwarenessState[]): void {
  writeVarUint(encoder, states.length);
  for (const { client, clock, state } of states) {
    writeVarUint(encoder, client);
    writeVarUint(encoder, clock);
    writeVarString(encoder, state);
  }
}

/**
 * Reads the states of an awareness update. State texts are checked here because stock receivers parse them in their
 * message handler without a guard: text that is no JSON would be an uncaught exception at everybody else.
 */
export function readAwarenessStates(reader: ByteReader): AwarenessState[] {
  const states: AwarenessState[] = [];
  const count = reader.readVarUint();
  for (let i = 0; i < count && !reader.failed; i += 1) {
    const client = reader.readVarUint();
    const clock = reader.readVarUint();
    const state = reader.readVarString();
    if (clock > maxAwarenessClock || !isStateText(state)) reader.fail();
    states.push({ client, clock, state });
  }
  return states;
}

function isStateText(text: string): boolean {
  if (text === absentState) return true;
  if (!text.startsWith("{") || isDeeperThan(text, maxAwarenessDepth)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // No JSON: bad input like any other.
    return false;
  }
}

/** Nesting of a text that may or may not be JSON; brackets inside strings do not count. */
function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (char === "}" || char === "]") depth -= 1;
  }
  return false;
}
