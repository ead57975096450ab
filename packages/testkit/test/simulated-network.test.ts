import { type SimulatedConnection, SimulatedNetwork, VirtualTime } from "@coppice/testkit/simulation";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

describe("a simulated network", () => {
  let time: VirtualTime;
  beforeAll(() => {
    time = VirtualTime.start();
  });
  afterAll(() => time.stop());

  /** A network with one server and one client that have just met, and everything either was told. */
  async function connect(options: Partial<ConstructorParameters<typeof SimulatedNetwork>[0]> = {}) {
    const network = new SimulatedNetwork({ latencyMs: () => 10, ...options });
    const told: string[] = [];
    let accepted: SimulatedConnection | undefined;
    network.serve((connection) => {
      accepted = connection;
      connection.server.on("message", (data: Buffer) => told.push(`server got ${data[0]}`));
      connection.server.on("close", (code: number) => told.push(`server closed ${code}`));
      connection.server.on("pong", () => told.push("pong"));
      connection.server.transport.on("drain", () => told.push("drain"));
    });
    const socket = new (network.createWebSocketClass("anna"))("ws://relay.test/room");
    socket.onopen = () => told.push("client open");
    socket.onmessage = ({ data }) => told.push(`client got ${new Uint8Array(data as ArrayBuffer)[0]}`);
    socket.onclose = ({ code }) => told.push(`client closed ${code}`);
    await time.advance(10);
    return { network, socket, told, server: accepted as SimulatedConnection };
  }

  test("[SM21] messages arrive in order after their time, and what has not arrived is in the buffer", async () => {
    const { socket, server, told } = await connect();
    expect(server.path).toBe("/room");
    socket.send(Uint8Array.of(1));
    socket.send(Uint8Array.of(2));
    server.server.send(Uint8Array.of(3));
    server.server.ping();
    expect([socket.bufferedAmount, server.server.bufferedAmount]).toEqual([2, 3]);
    await time.advance(9);
    expect(told).toEqual(["client open"]);
    await time.advance(30);
    expect(told.slice(1).sort()).toEqual(["client got 3", "drain", "pong", "server got 1", "server got 2"]);
    expect([socket.bufferedAmount, server.server.bufferedAmount]).toEqual([0, 0]);
  });

  test("[SM21] a close reaches the other end behind all that was sent, and then its own", async () => {
    const { server, told, socket } = await connect();
    server.server.send(Uint8Array.of(1));
    server.server.close(4420, "why");
    socket.send(Uint8Array.of(9));
    await time.advance(30);
    const events = told.slice(1).filter((event) => event !== "drain");
    expect(events).toEqual(["client got 1", "server got 9", "client closed 4420", "server closed 4420"]);
  });

  test("[SM21] a reset loses what is under way and both ends hear of it; a silent cut nobody hears of", async () => {
    const reset = await connect();
    reset.socket.send(Uint8Array.of(1));
    reset.network.cut("anna", "reset");
    await time.advance(30);
    expect(reset.told.slice(1).sort()).toEqual(["client closed 1006", "server closed 1006"]);
    const silent = await connect();
    silent.network.cut("anna", "silently");
    silent.socket.send(Uint8Array.of(1));
    await time.advance(60_000);
    expect(silent.told).toEqual(["client open"]);
    // Whoever gives up notices.
    silent.socket.close();
    expect(silent.socket.readyState).toBe(2);
  });

  test("[SM21] a stalled or paused line delivers later, a lost message never, a duplicated one twice", async () => {
    const fates = new Map([
      [1, "deliver"],
      [2, "lose"],
      [3, "duplicate"],
    ] as const);
    const { server, socket, told } = await connect({
      onMessage: ({ bytes }) => fates.get(bytes[0] as 1 | 2 | 3) ?? "deliver",
    });
    server.toServer.stall(1_000);
    for (const byte of [1, 2, 3]) socket.send(Uint8Array.of(byte));
    server.server.pause();
    await time.advance(2_000);
    expect(told).toEqual(["client open"]);
    server.server.resume();
    await time.advance(10);
    expect(told.slice(1)).toEqual(["server got 1", "server got 3", "server got 3"]);
  });

  test("[SM21] without a server, offline or killed, nobody connects and the dead are told nothing", async () => {
    const { network, told } = await connect();
    const before = network.createWebSocketClass("anna");
    network.kill("anna");
    await time.advance(20);
    expect(told).toEqual(["client open", "server closed 1006"]);
    // A timer of the killed process wants to connect again.
    const undead = new before("ws://relay.test/room");
    undead.onclose = () => told.push("the dead were told");
    await time.advance(20);
    expect(network.connections.size).toBe(0);
    expect(told).toEqual(["client open", "server closed 1006"]);
    network.setOnline("anna", false);
    const offline = new (network.createWebSocketClass("anna"))("ws://relay.test/room");
    await time.advance(20);
    expect(offline.readyState).toBe(3);
    network.setOnline("anna", true);
    network.killServer();
    const alone = new (network.createWebSocketClass("anna"))("ws://relay.test/room");
    await time.advance(20);
    expect(alone.readyState).toBe(3);
    expect(network.connections.size).toBe(0);
  });
});
