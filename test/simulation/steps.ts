import fc from "fast-check";

/** What happens next in a simulated world. `device` counts modulo the devices there are; `disk` likewise, the relay's last. */
export type Step = { readonly thenMs: number } & (
  | {
      readonly kind: "append";
      readonly device: number;
      readonly count: number;
      /** Time between one and the next; 0: at once. */
      readonly everyMs: number;
      readonly isLong: boolean;
      /** The message that carries the first of them does not arrive: the next ones leave a gap. */
      readonly losesFirst: boolean;
    }
  | { readonly kind: "move"; readonly device: number; readonly pick: number }
  | { readonly kind: "start" | "close"; readonly device: number }
  | { readonly kind: "crash"; readonly disk: number; readonly keepsCommit: boolean }
  | { readonly kind: "crash at commit"; readonly disk: number; readonly commits: number; readonly isDurable: boolean }
  | { readonly kind: "start relay" | "stop relay" | "back up" }
  /** The relay is put back to the backup, or wiped; one device starts anew at that moment and goes on writing. */
  | { readonly kind: "restore" | "wipe"; readonly restarts: number | undefined }
  | { readonly kind: "offline" | "online"; readonly device: number }
  | { readonly kind: "cut"; readonly device: number; readonly how: "reset" | "silently" }
  | { readonly kind: "stall"; readonly device: number; readonly direction: Direction; readonly ms: number }
  | {
      readonly kind: "lose" | "duplicate";
      readonly device: number;
      readonly direction: Direction;
      /** The next message of any kind, or the next that carries records. */
      readonly what: "message" | "records";
    }
  /** Somebody else puts a record at the next place of the Yjs client id under which this device last wrote. */
  | { readonly kind: "take place"; readonly device: number; readonly delayMs: number }
  /** What this device once sent is on the line again, before anything else, when it next connects. */
  | { readonly kind: "replay"; readonly device: number; readonly pick: number }
  | { readonly kind: "slow disk"; readonly disk: number; readonly commitMs: number }
  | { readonly kind: "faulty disk"; readonly disk: number; readonly fault: DiskFault; readonly ms: number }
);

export type Direction = "toServer" | "toClient";
type DiskFault = "isFull" | "isUnreadable";

/** One world and what happens in it. */
export interface Scenario {
  readonly seed: number;
  readonly devices: number;
  readonly steps: readonly Step[];
}

const index = fc.nat({ max: 11 });
const direction = fc.constantFrom<Direction>("toServer", "toClient");
/** Short most of the time, so that things happen while others are under way. */
const thenMs = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 1_500 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_500, max: 12_000 }) },
);

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      device: index,
      count: fc.integer({ min: 1, max: 6 }),
      everyMs: fc.constantFrom(0, 0, 30, 150, 600),
      isLong: fc.boolean(),
      losesFirst: fc.integer({ min: 0, max: 4 }).map((drawn) => drawn === 4),
      thenMs,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("move" as const), device: index, pick: fc.nat(), thenMs }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("start" as const), device: index, thenMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const), device: index, thenMs }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("crash" as const), disk: index, keepsCommit: fc.boolean(), thenMs }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("crash at commit" as const),
      disk: index,
      commits: fc.integer({ min: 0, max: 5 }),
      isDurable: fc.boolean(),
      thenMs,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("start relay" as const), thenMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stop relay" as const), thenMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("back up" as const), thenMs }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("restore" as const, "wipe" as const),
      restarts: fc.option(index, { nil: undefined }),
      thenMs,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("offline" as const, "online" as const), device: index, thenMs }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cut" as const),
      device: index,
      how: fc.constantFrom("reset" as const, "silently" as const),
      thenMs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("stall" as const),
      device: index,
      direction,
      ms: fc.integer({ min: 50, max: 20_000 }),
      thenMs,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("lose" as const, "lose" as const, "duplicate" as const),
      device: index,
      direction,
      what: fc.constantFrom("message" as const, "records" as const),
      thenMs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("take place" as const),
      device: index,
      delayMs: fc.integer({ min: 100, max: 1_500 }),
      thenMs,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("replay" as const), device: index, pick: fc.nat(), thenMs }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("slow disk" as const),
      disk: index,
      commitMs: fc.constantFrom(1, 40, 400),
      thenMs,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("faulty disk" as const),
      disk: index,
      fault: fc.constantFrom<DiskFault>("isFull", "isUnreadable"),
      ms: fc.integer({ min: 10, max: 4_000 }),
      thenMs,
    }),
  },
);

/** Worlds of two to four devices and up to `maxSteps` steps; a failing one shrinks to fewer of them. */
export function createScenarios(maxSteps: number): fc.Arbitrary<Scenario> {
  return fc.record({
    seed: fc.noShrink(fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    devices: fc.integer({ min: 2, max: 4 }),
    steps: fc.array(step, { minLength: 5, maxLength: maxSteps, size: "max" }),
  });
}
