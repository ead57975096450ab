import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { createOutput } from "../src/output.ts";
import { userEntry } from "./support/make-entries.ts";
import { interruptCoppice, makeDevice, requireFreshBuild } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

/** Far more text than pipes and buffers hold, so that half of it read means entries written and others still to come. */
const entryCount = 1_500;
const text = "All the world is a tree. ".repeat(80);

describe("an import that is stopped", () => {
  it.each([
    ["SIGINT", []],
    ["SIGTERM", ["--json"]],
  ] as const)(
    "[CP37] at %s says in one sentence how much is in and exits 1; the same command again brings the rest, nothing twice",
    async (signal, options) => {
      const device = await makeDevice("laptop");
      const entries = Array.from({ length: entryCount }, (_, index) =>
        userEntry(`e${index}`, index === 0 ? null : `e${index - 1}`, text),
      );
      const input = await readFile(await writeSessionFile({ entries }), "utf8");
      const stopped = await interruptCoppice(["import", "-", ...options, "--home", device.home], input, signal);
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
