import fc from "fast-check";

/** One random step of a device. `at` names the device and `pick` chooses among whatever the step needs. */
export type Step = { readonly at: number; readonly pick: number } & (
  | {
      readonly kind:
        | "append"
        | "append-elsewhere"
        | "append-undurable"
        | "die-appending"
        | "branch"
        | "move"
        | "move-to-root"
        | "label"
        | "rename"
        | "fork"
        | "connect"
        | "disconnect"
        | "restart"
        | "crash"
        | "compact";
    }
  | { readonly kind: "import"; readonly from: number; readonly count: number }
  | { readonly kind: "deliver"; readonly how: "once" | "again" | "split" | "lose"; readonly count: number }
);

const at = fc.nat(4);
const pick = fc.nat(100_000);

function stepOf<Kind extends string>(weight: number, ...kinds: Kind[]) {
  return { weight, arbitrary: fc.record({ kind: fc.constantFrom(...kinds), at, pick }) };
}

/** Weights keep devices connected most of the time: what travels is what can go wrong. */
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  stepOf(8, "append"),
  stepOf(1, "append-undurable", "die-appending"),
  stepOf(8, "append-elsewhere", "branch", "move", "move-to-root", "label", "rename"),
  stepOf(1, "fork"),
  stepOf(3, "compact"),
  stepOf(5, "connect"),
  stepOf(3, "disconnect", "restart", "crash"),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("import" as const),
      at,
      pick,
      from: fc.nat(2),
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("deliver" as const),
      at,
      pick,
      how: fc.constantFrom("once", "once", "once", "again", "split", "lose"),
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
);

/** How a run begins. */
export interface Start {
  readonly devices: number;
  /** How many of the devices have the session from the beginning; the others attach to it. */
  readonly founders: number;
  readonly isSealed: boolean;
  /** Whether the devices keep the index of the session between two opens. */
  readonly isIndexKept: boolean;
}

/** Long ones as often as short ones: what goes wrong needs a few steps to build up. */
export const anySteps: fc.Arbitrary<Step[]> = fc.array(anyStep, { minLength: 1, maxLength: 90, size: "max" });

export const anyStart: fc.Arbitrary<Start> = fc.integer({ min: 2, max: 5 }).chain((devices) =>
  fc.record({
    devices: fc.constant(devices),
    founders: fc.integer({ min: Math.max(1, devices - 2), max: devices }),
    isSealed: fc.boolean(),
    isIndexKept: fc.boolean(),
  }),
);
