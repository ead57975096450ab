/** Checks of the fields of a JSON object from outside, made of small parts, and what is said when one fails. */

/** Why a JSON text is not what it should be. */
export interface JsonFault {
  /** The field at fault, e.g. `parentId` or `retainedTail[2].role`; empty when the text as a whole is. */
  readonly field: string;
  /** What was expected and what was found, e.g. `parentId: expected a string or null, found a number`. */
  readonly message: string;
}

/** Finds what is wrong with the value of a field; `field` is what the fault calls it. */
export type ShapeCheck = (value: unknown, field: string) => JsonFault | undefined;

/** The checks of an object's fields, in the order in which they are made. */
export type FieldChecks = readonly (readonly [field: string, check: ShapeCheck])[];

/** Whether a value is an object with fields. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A check that calls what it accepts `expected`. */
export function accept(expected: string, accepts: (value: unknown) => boolean): ShapeCheck {
  return (value, field) =>
    accepts(value) ? undefined : { field, message: `${field}: expected ${expected}, found ${kindOf(value)}` };
}

/** A check that passes when the field is absent or null, as optional fields of pi's may be. */
export function orNothing(check: ShapeCheck): ShapeCheck {
  return (value, field) => (value === undefined || value === null ? undefined : check(value, field));
}

/** A check that passes when the field is absent. */
export function orAbsent(check: ShapeCheck): ShapeCheck {
  return (value, field) => (value === undefined ? undefined : check(value, field));
}

/** A check of an array and of each of its elements. */
export function arrayOf(check: ShapeCheck): ShapeCheck {
  return (value, field) => {
    if (!Array.isArray(value)) return anArray(value, field);
    for (const [index, element] of value.entries()) {
      const fault = check(element, `${field}[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** A check of an object and of the fields named; others may be anything. */
export function objectWith(checks: FieldChecks): ShapeCheck {
  return (value, field) => (isObject(value) ? findFieldFault(value, checks, `${field}.`) : anObject(value, field));
}

/** The first fault among an object's fields. `path` comes before their names. */
export function findFieldFault(
  fields: Record<string, unknown>,
  checks: FieldChecks,
  path: string = "",
): JsonFault | undefined {
  for (const [field, check] of checks) {
    const fault = check(fields[field], `${path}${field}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What a value is, in words, e.g. `an array`. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value === "") return "an empty string";
  return Array.isArray(value) ? "an array" : `${/^[aeiou]/.test(typeof value) ? "an" : "a"} ${typeof value}`;
}

const anArray = accept("an array", Array.isArray);

/** An object with any fields. */
export const anObject: ShapeCheck = accept("an object", isObject);
/** A string, possibly empty. */
export const aString: ShapeCheck = accept("a string", (value) => typeof value === "string");
/** A string that says something. */
export const aText: ShapeCheck = accept("a non-empty string", (value) => typeof value === "string" && value !== "");
/** A string or null. */
export const aStringOrNull: ShapeCheck = accept(
  "a string or null",
  (value) => value === null || typeof value === "string",
);
