import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { readModelRequests } from "./pi-home.ts";
import { type PiLab, readPiFile, waitUntilLive, withoutMoves } from "./pi-lab.ts";
import type { PiRecord } from "./pi-process.ts";

/**
 * A session that was shared is switched off, and then Coppice is uninstalled: pi goes on with its file, and nothing
 * leaves it any more. Returns the figures.
 */
export async function switchOff(lab: PiLab): Promise<string> {
  const laptop = await lab.addDevice("laptop");
  const phone = await lab.addDevice("phone");
  const pi = await lab.start(laptop);
  await pi.prompt("/coppice on");
  await pi.prompt("shared");
  await waitUntilLive(pi);
  await pi.prompt("/coppice off");
  assert.equal(await pi.waitForStatus("coppice", (text) => text === "coppice: off"), "coppice: off");
  const { path, id, lines: shared } = await readPiFile(laptop);
  const bytes = await readFile(path);
  await pi.prompt("stays here");
  const inMemory = await pi.call("get_entries");
  assert.equal(await pi.stop(), 0);
  await lab.sync(laptop);
  await lab.sync(phone);
  assert.deepEqual(withoutMoves(await lab.readTexts(phone, id)), shared.slice(1), "what the phone has");
  assert.deepEqual((await readFile(path)).subarray(0, bytes.length), bytes, "what was there");
  assert.deepEqual((await readPiFile(laptop)).lines.slice(1).map(parse), inMemory.entries, "the file and pi's memory");

  // Uninstalled: neither the extension nor anything it kept.
  await rm(laptop.coppiceHome, { recursive: true });
  const plain = await lab.startPlain(laptop, { args: ["--session", path] });
  const opened = await plain.call("get_entries");
  assert.deepEqual(opened.entries.slice(0, inMemory.entries.length), inMemory.entries);
  await plain.prompt("without it");
  const sent = (await readModelRequests(laptop)).at(-1)?.messages.filter(({ role }) => role === "user");
  assert.deepEqual(sent?.map(textOf), ["shared", "stays here", "without it"]);
  assert.equal(await plain.stop(), 0);
  const { lines } = await readPiFile(laptop);
  return `${lines.length - 1} entries in pi's file, ${shared.length - 1} of them shared; pi goes on without Coppice`;
}

const parse = (text: string): PiRecord => JSON.parse(text);

const textOf = ({ content }: PiRecord): string =>
  typeof content === "string" ? content : content.map((block: PiRecord) => block.text ?? "").join("");
