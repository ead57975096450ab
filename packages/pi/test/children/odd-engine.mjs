/** A worker in the engine's place: answers with what it was asked, and ends badly when it is told to. */
import { parentPort, workerData } from "node:worker_threads";

parentPort.on("message", ({ id, name, given }) => {
  const post = (message) => parentPort.postMessage(message);
  if (name === "inspect" && given.file === "throw") throw new Error("the engine fell over");
  if (name === "inspect" && given.file === "exit") {
    process.stderr.write("out of memory, say\n");
    process.exit(3);
  }
  if (name === "inspect" && given.file === "refuse")
    return post({ id, error: { message: "no such workspace", code: "not_found" } });
  if (name === "inspect" && given.file === "event")
    post({ event: { type: "problem", sessionId: "s", reason: "told" } });
  // Never answers "close" when its home says so.
  if (name === "close" && workerData.homeFolder === "hang") return;
  post({ id, answer: { name, given, homeFolder: workerData.homeFolder } });
  if (name === "close") parentPort.close();
});
