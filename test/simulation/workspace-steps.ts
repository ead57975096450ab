import fc from "fast-check";

/** What happens next in a simulated workspace. `process` counts modulo the processes there are, `pick` modulo the sessions. */
export type WorkspaceStep = { readonly thenMs: number } & (
  | { readonly kind: "create"; readonly process: number }
  | {
      readonly kind: "append" | "fork" | "rename" | "archive" | "unarchive" | "delete";
      readonly process: number;
      readonly pick: number;
    }
  | { readonly kind: "crash"; readonly process: number; readonly keepsCommit: boolean }
  | { readonly kind: "start" | "offline" | "online"; readonly process: number }
  | { readonly kind: "crash relay" | "start relay" }
);

/** Steps and the seed of everything random in the world they happen in. */
export interface WorkspaceScenario {
  readonly seed: number;
  readonly steps: readonly WorkspaceStep[];
}

const index = fc.nat({ max: 11 });
const thenMs = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 2_000 }) },
);

const inSession = <Kind extends string>(weight: number, kind: Kind) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), process: index, pick: index, thenMs }),
});

const step: fc.Arbitrary<WorkspaceStep> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("create" as const), process: index, thenMs }) },
  inSession(6, "append" as const),
  inSession(2, "fork" as const),
  inSession(4, "rename" as const),
  inSession(3, "archive" as const),
  inSession(2, "unarchive" as const),
  inSession(1, "delete" as const),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("crash" as const), process: index, keepsCommit: fc.boolean(), thenMs }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("start" as const, "offline" as const, "online" as const),
      process: index,
      thenMs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("crash relay" as const, "start relay" as const), thenMs }),
  },
);

/** Worlds of up to `maxSteps` steps; a failing one shrinks to fewer of them. */
export function createWorkspaceScenarios(maxSteps: number): fc.Arbitrary<WorkspaceScenario> {
  return fc.record({
    seed: fc.noShrink(fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    steps: fc.array(step, { minLength: 5, maxLength: maxSteps, size: "max" }),
  });
}
