import { fileURLToPath } from "node:url";

/** One change of a source file: `original` stands in it exactly once. */
interface SourceReplacement {
  /** From the root of the repository. */
  readonly file: string;
  readonly original: string;
  readonly replacement: string;
}

/** A mistake that somebody could make in the code, to see whether the tests would notice. */
export interface PlantedBug {
  readonly name: string;
  /** What is wrong, and what comes of it. */
  readonly consequence: string;
  readonly replacements: readonly SourceReplacement[];
  /** Test files one of which must fail. */
  readonly tests: readonly string[];
}

const simulation = ["test/simulation/simulation.test.ts"];
const room = "packages/relay/src/room.ts";
const roomLog = "packages/relay/src/room-log.ts";
const deliveries = "packages/relay/src/room-deliveries.ts";
const outbox = "packages/relay/src/outbox.ts";
const connection = "packages/relay/src/connection.ts";

/** The bugs that `scripts/check-planted-bugs.mjs` plants one after the other. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "drop-an-ack",
    tests: simulation,
    consequence: "what was delivered stays pending until it is sent again",
    replacements: [{ file: room, original: "    member.acknowledge(clients);\n", replacement: "" }],
  },
  {
    name: "forward-before-persist",
    tests: simulation,
    consequence: "others see what a crash of the relay takes away",
    replacements: [
      {
        file: deliveries,
        original: "      chunks.push({ structs, bytes: update.length, frame, stored });\n",
        replacement:
          "      chunks.push({ structs, bytes: update.length, frame, stored });\n      (this.#listener as any).forwardNow(sender, frame);\n",
      },
      {
        file: room,
        original: "      noteStored: (chunk) => this.#noteStored(chunk),\n",
        replacement:
          "      noteStored: (chunk) => this.#noteStored(chunk),\n      forwardNow: (sender: unknown, frame: Uint8Array) => {\n        for (const other of this.#members) if (other !== sender) (other as any).forwardNow(frame);\n      },\n",
      },
      {
        file: connection,
        original: "  get position(): number | undefined {\n",
        replacement:
          "  forwardNow(frame: Uint8Array): void {\n    this.#outbox?.sendNotice(frame);\n  }\n\n  get position(): number | undefined {\n",
      },
    ],
  },
  {
    name: "ack-before-fsync",
    tests: simulation,
    consequence: "a crash of the relay takes away what a device believes is there",
    replacements: [
      {
        file: room,
        original: "  /** Lets a member in; from now on it hears of commits and cursors. */\n",
        replacement: "  accepted(client: number): number {\n    return this.#deliveries.accepted(client);\n  }\n\n",
      },
      {
        file: deliveries,
        original: "  #acceptedOf(client: number): number {\n",
        replacement:
          "  accepted(client: number): number {\n    return this.#acceptedOf(client);\n  }\n\n  #acceptedOf(client: number): number {\n",
      },
      {
        file: deliveries,
        original: "    const clients = new Set(delivered.map(({ client }) => client));\n",
        replacement:
          "    const clients = new Set(delivered.map(({ client }) => client));\n    this.#listener.noteSettled(sender, clients);\n",
      },
      {
        file: outbox,
        original: "clock: index.held(client), check: this.#givesChecks ? index.checkOf(client) : null",
        replacement: "clock: this.#room.accepted(client), check: null",
      },
    ],
  },
  {
    name: "advance-the-vector-before-the-put",
    tests: simulation,
    consequence: "the relay says it has what it may never get onto its disk",
    replacements: [
      {
        file: deliveries,
        original: "    for (const { client, clock } of accepted) {\n      this.#accepted ??= new Map();\n",
        replacement:
          "    if (accepted.length > 0) this.#log.index.add(this.#log.headSeq + 1, accepted);\n    for (const { client, clock } of accepted) {\n      this.#accepted ??= new Map();\n",
      },
      { file: roomLog, original: "    this.index.add(seq, structs);\n", replacement: "" },
    ],
  },
  {
    name: "skip-the-origin-check",
    tests: simulation,
    consequence: "the log holds a record before the one it stands behind",
    replacements: [
      {
        file: "packages/wire/src/causal-order.ts",
        original: '!this.#hasClock(queue, origin.clock)) return "missing";',
        replacement: '!this.#hasClock(queue, origin.clock)) return "none";',
      },
    ],
  },
  {
    name: "close-on-a-gap",
    tests: simulation,
    consequence: "an honest client is turned away",
    replacements: [
      {
        file: connection,
        original: "else if (delivered.value.hasGap) this.#handleGap();",
        replacement: 'else if (delivered.value.hasGap) this.refuse({ reason: "badUpdate", message: "gap" });',
      },
    ],
  },
  {
    name: "index-a-record-by-its-first-client-only",
    tests: simulation,
    consequence: "records of the other clients are never handed on",
    replacements: [
      {
        file: roomLog,
        original: "    this.index.add(seq, structs);\n",
        replacement: "    this.index.add(seq, structs.filter(({ client }) => client === structs[0]?.client));\n",
      },
    ],
  },
  {
    name: "forward-live-during-catch-up",
    tests: simulation,
    consequence: "a reader gets new records before the old ones they stand on",
    replacements: [
      {
        file: outbox,
        original: "!this.#isClosed && !this.#isReading && !this.#isCongested",
        replacement:
          "!this.#isClosed && (!this.#isReading || this.#room.recent.get((this.#position ?? -2) + 1) !== undefined) && !this.#isCongested",
      },
      {
        file: outbox,
        original: "    else this.#read(() => this.#readCatchUp(vector, seqs, upTo));\n",
        replacement:
          "    else {\n      this.#position ??= upTo;\n      this.#read(() => this.#readCatchUp(vector, seqs, upTo));\n    }\n",
      },
    ],
  },
  {
    name: "forget-the-relays-syncstep1",
    tests: simulation,
    consequence: "what was written offline is not asked for",
    replacements: [
      {
        file: outbox,
        original: "    this.#sendSyncStep1();\n    this.#position",
        replacement: "    this.#position",
      },
    ],
  },
  {
    name: "merge-a-record-with-a-known-part",
    tests: simulation,
    consequence: "the log holds a record twice",
    replacements: [
      {
        file: deliveries,
        original: "of chunkStructs(accepted)) {\n",
        replacement: "of chunkStructs(delivered)) {\n",
      },
    ],
  },
  {
    name: "merge-stored-updates-with-a-known-part",
    tests: ["packages/relay/test/relay-merging.test.ts"],
    consequence: "merging in the background writes a record into the log a second time",
    replacements: [
      {
        file: "packages/relay/src/merge-updates.ts",
        original: "structs === undefined || !structs.every(isHeldFromHere)",
        replacement: "structs === undefined || !structs.some(isHeldFromHere)",
      },
    ],
  },
];

/** The source with a bug's replacements for this file. Throws when one does not match exactly once. */
export function plantInSource(bug: PlantedBug, file: string, source: string): string {
  let planted = source;
  for (const { original, replacement } of bug.replacements.filter((each) => each.file === file)) {
    if (planted.split(original).length !== 2)
      throw new Error(`The bug ${bug.name} does not fit ${file} any more: not exactly one ${JSON.stringify(original)}`);
    planted = planted.replace(original, () => replacement);
  }
  return planted;
}

/** What Vite needs of a plugin here. */
interface TransformPlugin {
  readonly name: string;
  readonly enforce: "pre";
  transform(source: string, id: string): string | undefined;
}

/** Plants the named bug in the sources as they are loaded; nothing on disk changes. No name, no plugin. */
export function createPlantedBugPlugin(bugName: string | undefined): TransformPlugin[] {
  if (bugName === undefined || bugName === "") return [];
  const bug = plantedBugs.find(({ name }) => name === bugName);
  if (bug === undefined) throw new Error(`There is no bug ${bugName} to plant`);
  const root = fileURLToPath(new URL("../..", import.meta.url));
  return [
    {
      name: `planted-bug:${bugName}`,
      enforce: "pre",
      transform(source, id) {
        const file = id.split("?")[0]?.replace(root, "") ?? "";
        return bug.replacements.some((each) => each.file === file) ? plantInSource(bug, file, source) : undefined;
      },
    },
  ];
}
