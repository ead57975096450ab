import { closeCodes, encodeFrame, isFinalCloseCode, parseFrame, tokenToSubprotocols } from "@coppice/wire";
import type { TokenGate } from "./token-gate.ts";
import type { WebSocketConstructor } from "./workspace-types.ts";

/** `unreachable`: nobody answered, or the relay could not do it now; ask again. */
export type DeletionOutcome = "deleted" | "refused" | "unreachable";

/** What to ask for, and how. */
export interface DeletionRequest {
  /** The room's address. */
  readonly url: string;
  /** The secret that names the room. */
  readonly secret: Uint8Array;
  readonly webSocket: WebSocketConstructor;
  readonly tokenGate: TokenGate;
  /** How long the relay may take once it is asked. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Asks a relay to delete a room, on a connection of its own on which nothing else is said: a replica that connected for
 * it would first send what it holds, and take that for saved. A room that is deleted already counts as deleted.
 */
export async function requestDeletion(request: DeletionRequest): Promise<DeletionOutcome> {
  const { tokenGate, signal } = request;
  // A source of tokens that fails is met again by the next attempt, and the status of the list says so.
  const pass = await tokenGate.enter(signal).catch(() => undefined);
  if (pass === undefined || signal.aborted) return "unreachable";
  const outcome = await ask(request, pass.token === undefined ? [] : [...tokenToSubprotocols(pass.token)]);
  if (outcome !== "unauthorised") return outcome;
  tokenGate.noteRefusal(pass);
  return "unreachable";
}

function ask(request: DeletionRequest, protocols: string[]): Promise<DeletionOutcome | "unauthorised"> {
  const { url, secret, webSocket, timeoutMs, signal } = request;
  return new Promise((resolve) => {
    const socket = new webSocket(url, protocols);
    socket.binaryType = "arraybuffer";
    const finish = (outcome: DeletionOutcome | "unauthorised"): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.close();
      resolve(outcome);
    };
    const giveUp = (): void => finish("unreachable");
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener("abort", giveUp);
    socket.onopen = () => socket.send(encodeFrame({ type: "deleteRoom", secret }).slice());
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      const parsed = data instanceof ArrayBuffer ? parseFrame(new Uint8Array(data)) : undefined;
      if (parsed?.ok === true && parsed.value.type === "refused")
        finish(isFinalCloseCode(parsed.value.code) ? "refused" : "unreachable");
    };
    // It is followed by a close; without a listener `ws` would throw.
    socket.onerror = () => undefined;
    socket.onclose = ({ code }) => {
      if (code === closeCodes.roomDeleted) finish("deleted");
      else if (code === closeCodes.unauthorised) finish("unauthorised");
      else finish(isFinalCloseCode(code) ? "refused" : "unreachable");
    };
  });
}
