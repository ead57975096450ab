/** The worker thread in which the engine runs; started by `EngineClient`. */
import { parentPort, workerData } from "node:worker_threads";
import { openEngine } from "./engine.ts";
import type { EngineMessage, EngineStart, RequestMessage } from "./protocol.ts";

const port = parentPort;
if (port === null) throw new Error("engine-worker.js is started by EngineClient, as a worker thread.");

const post = (message: EngineMessage): void => port.postMessage(message);
const handlers = openEngine(workerData as EngineStart, (event) => post({ event }));

port.on("message", ({ id, name, given }: RequestMessage) => {
  // What a name takes and gives is the types' word on both sides of the port, which are of one version.
  const handle = handlers[name] as (given: unknown) => Promise<unknown>;
  handle(given).then(
    (answer) => {
      post({ id, answer });
      // Nothing is left open then, so the thread ends.
      if (name === "close") port.close();
    },
    (error: unknown) => post({ id, error: toError(error) }),
  );
});

function toError(error: unknown): { message: string; code?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  return { message: error.message, ...(typeof code === "string" ? { code } : {}) };
}
