import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AskOptions, askRunningSync } from "../src/through-sync/ask-running-sync.ts";
import { encodeFrame, parseCommandFrame, parseSyncFrame } from "../src/through-sync/command-frames.ts";
import { CommandServer, type CommandServerOptions, type HandedCommand } from "../src/through-sync/command-server.ts";
import { readFrameLines } from "../src/through-sync/frame-lines.ts";
import { connectTo, readSyncAddress, writeSyncAddress } from "../src/through-sync/sync-address.ts";
import { makeTempFolder } from "./support/run-coppice.ts";

const version = "1.2.3";
/** Bounds a wait that hangs; nothing waits this long when all is well. */
const patientMs = 30_000;

async function openServer(homeFolder: string, options: Partial<CommandServerOptions> = {}): Promise<CommandServer> {
  const server = await CommandServer.open({
    homeFolder,
    version,
    accepts: async () => true,
    run: async ({ request, write }) => {
      write("stdout", `did ${request.args.join(" ")}`);
      return 0;
    },
    onOtherServer: () => undefined,
    onError: (error) => console.error(error),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

function ask(
  homeFolder: string,
  options: Partial<AskOptions> = {},
): { outcome: Promise<number | undefined>; printed: string[] } {
  const printed: string[] = [];
  const stream = { write: (text: string) => printed.push(text) };
  const outcome = askRunningSync({
    homeFolder,
    version,
    args: ["move"],
    env: {},
    stdout: stream,
    stderr: stream,
    ...options,
  });
  return { outcome, printed };
}

/** Something that listens where a `sync` would and speaks as the test wants it to. */
async function listenInstead(homeFolder: string, onSocket: (socket: Socket) => void): Promise<Server> {
  const address = join(homeFolder, "stand-in.socket");
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  server.listen(address);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  await writeSyncAddress(homeFolder, address);
  return server;
}

const settled = <Value>(): { promise: Promise<Value>; settle: (value: Value) => void } => {
  let settle: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
};

describe("the frames", () => {
  it("[CP72] arrive whole, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ args: fc.array(fc.string({ unit: "binary" })), input: fc.string({ unit: "binary" }) })),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        async (requests, cuts) => {
          const frames = requests.map((request) => ({
            type: "command" as const,
            protocol: 1,
            version,
            env: { TERM: "dumb" },
            stdout: { isTTY: true, columns: 80 },
            stderr: { isTTY: false },
            ...request,
          }));
          const bytes = Buffer.from(frames.map(encodeFrame).join(""));
          const chunks: Buffer[] = [];
          for (let at = 0; at < bytes.length; ) {
            const next = at + (cuts.next().value ?? 1);
            chunks.push(bytes.subarray(at, next));
            at = next;
          }
          const read: unknown[] = [];
          const stream = Readable.from(chunks);
          readFrameLines(stream, (line) => read.push(parseCommandFrame(line)));
          await finished(stream);
          expect(read).toEqual(frames);
        },
      ),
    );
  });

  it("[CP72] are undefined when they are none this version knows", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        for (const frame of [parseCommandFrame(line), parseSyncFrame(line)]) expect(frame).toBeUndefined();
      }),
    );
  });
});

describe("a server of commands", () => {
  it("[CP72] passes output on while the command runs, then its exit code", async () => {
    const home = await makeTempFolder();
    await openServer(home, {
      run: async ({ request, write }) => {
        write("stderr", `${request.input}`);
        write("stdout", `${request.env.NO_COLOR} ${request.stdout.columns}`);
        return 7;
      },
    });
    const { outcome, printed } = ask(home, {
      env: { NO_COLOR: "1", SECRET: "x" },
      readInput: async () => "typed",
      stdout: { write: (text) => printed.push(`out ${text}`), columns: 40 },
    });
    expect(await outcome).toBe(7);
    expect(printed).toEqual(["typed", "out 1 40"]);
  });

  it("[CP73] of another version, or that does not do this command, begins nothing", async () => {
    const home = await makeTempFolder();
    const begun: unknown[] = [];
    await openServer(home, {
      accepts: async ({ args }) => args[0] !== "log",
      run: async ({ request }) => begun.push(request),
    });
    expect(await ask(home, { version: "1.2.4" }).outcome).toBeUndefined();
    expect(await ask(home, { args: ["log"] }).outcome).toBeUndefined();
    expect(begun).toEqual([]);
  });

  it("[CP73] is left alone when nobody listens, when it does not answer, and for what is too long", async () => {
    const home = await makeTempFolder();
    expect(await ask(home).outcome).toBeUndefined();
    await writeSyncAddress(home, join(home, "nobody.socket"));
    expect(await ask(home).outcome).toBeUndefined();
    await listenInstead(home, () => undefined);
    expect(await ask(home, { readyWithinMs: 1 }).outcome).toBeUndefined();
    expect(await ask(home, { readInput: async () => "x".repeat(25 * 1024 * 1024) }).outcome).toBeUndefined();
  });

  it("[CP73] that goes before `begin` was sent has done nothing; one that goes later may have", async () => {
    const home = await makeTempFolder();
    const server = await listenInstead(home, (socket) => socket.once("data", () => socket.destroy()));
    expect(await ask(home).outcome).toBeUndefined();
    server.close();
    await once(server, "close");
    await listenInstead(home, (socket) => {
      readFrameLines(socket, (line) => {
        if (parseCommandFrame(line)?.type === "begin") socket.destroy();
        else socket.write(encodeFrame({ type: "ready" }));
      });
    });
    await expect(ask(home).outcome).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining("nothing is known to be lost"),
    });
  });

  it("[CP75] hears when the process that asked is gone, and does the command to its end", async () => {
    const home = await makeTempFolder();
    const begun = settled<HandedCommand>();
    const end = settled<number>();
    await openServer(home, {
      run: (command) => {
        begun.settle(command);
        return end.promise;
      },
    });
    const socket = await connectTo((await readSyncAddress(home)) ?? "");
    if (socket === undefined) throw new Error("nobody listens");
    readFrameLines(socket, () => void socket.write(encodeFrame({ type: "begin" })));
    socket.write(
      encodeFrame({
        type: "command",
        protocol: 1,
        version,
        args: [],
        env: {},
        stdout: { isTTY: false },
        stderr: { isTTY: false },
      }),
    );
    const { abandoned, write } = await begun.promise;
    expect(abandoned.aborted).toBe(false);
    socket.destroy();
    if (!abandoned.aborted) await once(abandoned, "abort");
    write("stdout", "to nobody");
    end.settle(0);
    expect(await ask(home).outcome).toBe(0);
  });

  it("[CP76] that is closed ends what it has begun, and begins nothing more", async () => {
    const home = await makeTempFolder();
    const begun = settled<void>();
    const end = settled<number>();
    const server = await openServer(home, {
      run: () => {
        begun.settle();
        return end.promise;
      },
    });
    const { outcome } = ask(home);
    await begun.promise;
    const closing = server.close();
    expect(await ask(home).outcome).toBeUndefined();
    end.settle(3);
    expect(await outcome).toBe(3);
    await closing;
    expect(await readSyncAddress(home)).toBeUndefined();
  });

  it("[CP72] ends a connection that breaks the protocol, and goes on", async () => {
    const home = await makeTempFolder();
    await openServer(home);
    for (const line of ["{}", "not json", encodeFrame({ type: "begin" }).trim()]) {
      const socket = await connectTo((await readSyncAddress(home)) ?? "");
      if (socket === undefined) throw new Error("nobody listens");
      socket.resume();
      socket.write(`${line}\n`);
      await once(socket, "close");
    }
    expect(await ask(home).outcome).toBe(0);
  });

  it("[CP77] announces itself again when its address or its socket was taken away", async () => {
    const home = await makeTempFolder();
    await openServer(home, { checkIntervalMs: 5 });
    const first = (await readSyncAddress(home)) ?? "";
    await rm(first);
    await expect.poll(() => ask(home).outcome, { timeout: patientMs }).toBe(0);
    expect(await readSyncAddress(home)).not.toBe(first);
    await writeSyncAddress(home, join(home, "of-nobody.socket"));
    await expect.poll(() => ask(home).outcome, { timeout: patientMs }).toBe(0);
  });

  it("[CP77] touches nothing that an address names and no sync has made", async () => {
    const home = await makeTempFolder();
    const folder = await mkdtemp(join(tmpdir(), "coppice-sync-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const elsewhere = join(await makeTempFolder(), "socket");
    for (const precious of [join(folder, "socket"), join(home, "sync-00.socket"), elsewhere]) {
      await writeFile(precious, "mine");
      await writeSyncAddress(home, precious);
      const server = await openServer(home);
      expect((await stat(precious)).size).toBe(4);
      expect(await ask(home).outcome).toBe(0);
      await server.close();
    }
  });
});
