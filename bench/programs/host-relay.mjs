/**
 * The relay's end of `relays.mjs`, for programs that are a relay: they tell where they listen and, when asked, what
 * they have used. The folder they keep rooms in is their first argument.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** @param {{ url: string, close: () => Promise<void> }} relay */
export function hostRelay({ url, close }) {
  const answers = {
    usage: readUsage,
    idleUsage: () => {
      collectGarbage();
      return readUsage();
    },
    close,
  };
  process.on("message", async ({ question }) => {
    const answer = await answers[question]();
    process.send({ question, answer }, () => {
      if (question === "close") process.exit();
    });
  });
  process.on("disconnect", () => process.exit());
  process.send({ question: "url", answer: url });
}

/** Whether rooms are kept for the next start; only peers are ever told not to. */
export const keepsRooms = process.argv[3] === "keep";

function readUsage() {
  const { user, system } = process.cpuUsage();
  return {
    cpuUs: user + system,
    rssBytes: process.memoryUsage.rss(),
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    ownBytes: readOwnBytes(),
  };
}

/** Memory without the pages of mapped files, which are the system's cache of a database and go when they are needed. */
function readOwnBytes() {
  if (process.platform !== "linux") return process.memoryUsage.rss();
  return Number(/RssAnon:\s*(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
}
