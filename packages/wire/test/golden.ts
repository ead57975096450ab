import { readFileSync } from "node:fs";
import type { Frame, FrameError, RoomHead, Struct, UpdateOffence } from "@coppice/wire";

/** A frame as the golden file writes it: bytes as hex, a state vector as pairs. */
interface GoldenFrame {
  readonly name: string;
  readonly hex: string;
  readonly frame: Record<string, unknown>;
}

interface GoldenStruct {
  readonly client: number;
  readonly clock: number;
  readonly origin: { readonly client: number; readonly clock: number } | null;
  readonly record: string;
}

interface GoldenUpdate {
  readonly name: string;
  readonly hex: string;
  readonly hasSkip: boolean;
  readonly structs: readonly GoldenStruct[];
}

const readJson = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`golden/${file}`, import.meta.url), "utf8"));

export const goldenFrames = readJson("frames.json") as {
  readonly accepted: readonly GoldenFrame[];
  readonly refused: ReadonlyArray<{ readonly name: string; readonly hex: string; readonly error: FrameError }>;
};

export const goldenUpdates = readJson("updates.json") as {
  readonly accepted: readonly GoldenUpdate[];
  readonly refused: ReadonlyArray<{ readonly name: string; readonly hex: string; readonly offence: UpdateOffence }>;
};

export const goldenHashes = readJson("hashes.json") as {
  readonly checks: ReadonlyArray<{ readonly structs: readonly string[]; readonly check: string | null }>;
  readonly digests: ReadonlyArray<{ readonly stateVector: Array<[number, number]>; readonly digest: string }>;
  readonly rooms: ReadonlyArray<{ readonly secret: string; readonly room: string }>;
};

export const hexToBytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const bytesToHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

export function goldenToFrame({ frame }: GoldenFrame): Frame {
  const bytes = (key: string) => hexToBytes(frame[key] as string);
  switch (frame.type) {
    case "syncStep1":
      return { type: "syncStep1", stateVector: new Map(frame.stateVector as Array<[number, number]>) };
    case "syncStep2":
      return { type: "syncStep2", update: bytes("update") };
    case "update":
      return { type: "update", update: bytes("update") };
    case "digest":
      return { type: "digest", digest: bytes("digest") };
    case "draft":
      return { type: "draft", sealed: bytes("sealed") };
    case "deleteRoom":
      return { type: "deleteRoom", secret: bytes("secret") };
    case "unknownExtension":
      return { type: "unknownExtension", subType: frame.subType as number, payload: bytes("payload") };
    case "ack": {
      const pairs = frame.pairs as ReadonlyArray<{ client: number; clock: number; check: string | null }>;
      return {
        type: "ack",
        pairs: pairs.map((pair) => ({ ...pair, check: pair.check === null ? null : hexToBytes(pair.check) })),
      };
    }
    case "heads": {
      const heads = frame.heads as ReadonlyArray<{ digest?: string }>;
      return {
        type: "heads",
        heads: heads.map((head) => ({
          ...head,
          ...(head.digest === undefined ? {} : { digest: hexToBytes(head.digest) }),
        })) as RoomHead[],
      };
    }
    default:
      return frame as unknown as Frame;
  }
}

export const structToGolden = ({ client, clock, origin, record }: Struct): GoldenStruct => ({
  client,
  clock,
  origin,
  record: bytesToHex(record),
});
