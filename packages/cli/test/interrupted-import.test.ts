import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { createOutput } from "../src/output.ts";
import { ReadingStopped, readUntilStopped } from "../src/read-until-stopped.ts";
import { userEntry } from "./support/make-entries.ts";
import { interruptCoppice, makeDevice, requireFreshBuild } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

/** Far more text than pipes and buffers hold, so that half of it read means entries written and others still to come. */
const entryCount = 1_500;
const text = "All the world is a tree. ".repeat(80);

describe("an import that is stopped", () => {
  it.each([
    ["SIGINT", [], "goes on"],
    ["SIGTERM", ["--json"], "goes on"],
    ["SIGINT", [], "is silent"],
  ] as const)(
    "[CP37, CP91] at %s %j, when the input %s, says in one sentence how much is in and exits 1; the same command again brings the rest, nothing twice",
    async (signal, options, afterwards) => {
      const device = await makeDevice("laptop");
      const entries = Array.from({ length: entryCount }, (_, index) =>
        userEntry(`e${index}`, index === 0 ? null : `e${index - 1}`, text),
      );
      const input = await readFile(await writeSessionFile({ entries }), "utf8");
      const args = ["import", "-", ...options, "--home", device.home];
      const stopped = await interruptCoppice(args, input, signal, afterwards);
      expect(stopped.code).toBe(1);
      // The whole of stderr: neither progress nor a stack trace.
      const [, count] =
        /^coppice: Stopped: (\d+) entries are in\. Run the same command again to go on; what is in stays as it is\.\n$/.exec(
          stopped.stderr,
        ) ?? [];
      const written = Number(count);
      expect(written).toBeGreaterThan(0);
      expect(written).toBeLessThan(entryCount);

      const again = await device.run(["import", "-", "--json"], { input });
      expect(again).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(again.stdout)).toMatchObject({ files: [{ written: entryCount - written, known: written }] });
      const raw = await device.run(["log", shortSessionId, "--raw"]);
      expect(raw.stdout).toBe(input.slice(input.indexOf("\n") + 1));
    },
  );
});

describe("reading until stopped", () => {
  const never = async function* (): AsyncGenerator<string> {
    yield "first";
    await new Promise(() => undefined);
  };

  it("[CP91] ends at once while the next chunk is waited for", async () => {
    const stop = new AbortController();
    const read: string[] = [];
    const reading = (async () => {
      for await (const chunk of readUntilStopped(never(), stop.signal)) {
        read.push(chunk);
        setImmediate(() => stop.abort());
      }
    })();
    await expect(reading).rejects.toThrow(ReadingStopped);
    expect(read).toEqual(["first"]);
  });

  it("[CP91] gives everything and releases the input when nobody stops it", async () => {
    let isReleased = false;
    const input = async function* (): AsyncGenerator<string> {
      try {
        yield* ["a", "b", "c"];
      } finally {
        isReleased = true;
      }
    };
    const { signal } = new AbortController();
    for await (const chunk of readUntilStopped(input(), signal)) if (chunk === "b") break;
    expect(isReleased).toBe(true);
    const all: string[] = [];
    for await (const chunk of readUntilStopped(input(), signal)) all.push(chunk);
    expect(all).toEqual(["a", "b", "c"]);
  });

  it("[CP91] reads nothing of an input once it is stopped, and an input that fails fails as it did", async () => {
    await expect(readUntilStopped(never(), AbortSignal.abort()).next()).rejects.toThrow(ReadingStopped);
    const failing = async function* (): AsyncGenerator<string> {
      yield "a";
      throw new Error("the pipe broke");
    };
    const chunks = readUntilStopped(failing(), new AbortController().signal);
    expect((await chunks.next()).value).toBe("a");
    await expect(chunks.next()).rejects.toThrow("the pipe broke");
  });
});

describe("progress", () => {
  /** What a run writes that shows progress twice and then a result. */
  function writtenBy(isTTY: boolean | undefined, json: boolean): { stdout: string; stderr: string } {
    const written = { stdout: "", stderr: "" };
    const streamOf = (name: "stdout" | "stderr") => ({
      write: (piece: string) => (written[name] += piece),
      ...(isTTY === undefined ? {} : { isTTY }),
    });
    const output = createOutput({ stdout: streamOf("stdout"), stderr: streamOf("stderr"), env: {} }, json);
    output.showProgress("10 entries");
    output.showProgress("20 entries");
    output.print("done");
    output.printJson({ coppice: "import" });
    return written;
  }

  it("[CP37] is one line on a terminal that replaces itself and is gone before a result", () => {
    const clear = "\r\u001b[K";
    expect(writtenBy(true, false)).toEqual({ stdout: "done\n", stderr: `10 entries${clear}20 entries${clear}` });
  });

  it.each([
    ["in a pipe", undefined, false, "done\n"],
    ["with --json in a pipe", undefined, true, '{"coppice":"import"}\n'],
    ["with --json on a terminal", true, true, '{"coppice":"import"}\n'],
  ])("[CP37] is not shown %s", (_, isTTY, json, stdout) => {
    expect(writtenBy(isTTY, json)).toEqual({ stdout, stderr: "" });
  });
});
