import { Double, Int32, Long, ObjectId } from 'bson';

/** A BSON document whose numbers keep their types. */
export type Document = Record<string, unknown>;

/** A value of BSON, or undefined for a field that is missing. */
export type Value = unknown;

export type NumberValue = Int32 | Long | Double;

/** What the server says to a command that it does not carry out. */
export class ServerError extends Error {
  constructor(
    readonly code: number,
    readonly codeName: string,
    message: string,
    readonly more: Document = {},
  ) {
    super(message);
  }
}

/** Asked for what this stand-in does not do: to answer would be to guess. */
export const unknown = (what: string): ServerError =>
  new ServerError(238, 'NotImplemented', `The stand-in does not know ${what}`);

export const isNumber = (value: Value): value is NumberValue =>
  value instanceof Int32 || value instanceof Long || value instanceof Double;

export const isNullish = (value: Value): value is null | undefined =>
  value === null || value === undefined;

export const isDocument = (value: Value): value is Document =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The order of types, as the manual has it under "Comparison/Sort Order"; a missing field comes before null. */
const TYPE_ORDER: readonly ((value: Value) => boolean)[] = [
  (value) => value === undefined,
  (value) => value === null,
  isNumber,
  (value) => typeof value === 'string',
  isDocument,
  Array.isArray,
  (value) => value instanceof ObjectId,
  (value) => typeof value === 'boolean',
  (value) => value instanceof Date,
];

/** The place of a value's type in the order of types. */
export function typeRank(value: Value): number {
  const rank = TYPE_ORDER.findIndex((is) => is(value));
  if (rank < 0) {
    throw unknown(`how to compare ${String(value)}`);
  }
  return rank;
}

/** Below zero, zero or above, across all types. */
export function compare(a: Value, b: Value): number {
  const byType = typeRank(a) - typeRank(b);
  return byType === 0 ? compareAlike(a, b) : byType;
}

function compareAlike(a: Value, b: Value): number {
  if (isNullish(a)) {
    return 0;
  }
  if (isNumber(a)) {
    return compareNumbers(a, b as NumberValue);
  }
  if (typeof a === 'string') {
    // By bytes, as with the simple collation; UTF-16 has another order.
    return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  }
  if (a instanceof Date || typeof a === 'boolean') {
    return Number(a) - Number(b);
  }
  throw unknown('how to compare documents and arrays');
}

function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (a instanceof Double || b instanceof Double) {
    return toNumber(a) - toNumber(b);
  }
  return toLong(a).compare(toLong(b));
}

export function toNumber(value: NumberValue): number {
  return value instanceof Long ? value.toNumber() : value.value;
}

export function toLong(value: NumberValue): Long {
  if (value instanceof Double && !Number.isSafeInteger(Math.trunc(value.value))) {
    throw new ServerError(241, 'ConversionFailure', `${value.value} does not fit`);
  }
  return value instanceof Long ? value : Long.fromNumber(Math.trunc(value.value));
}
