import { Double, Int32, Long } from 'bson';
import {
  isNullish,
  isNumber,
  type NumberValue,
  ServerError,
  toLong,
  toNumber,
  type Value,
} from './values.js';

type Operation = (a: bigint, b: bigint) => bigint;

const mismatch = (what: string): ServerError => new ServerError(14, 'TypeMismatch', what);

/** Of two numbers: a double if one of them is, else a long if one of them is or the result needs it. */
function combine(
  a: NumberValue,
  b: NumberValue,
  integers: Operation,
  doubles: number,
): NumberValue {
  if (a instanceof Double || b instanceof Double) {
    return new Double(doubles);
  }
  const result = integers(toLong(a).toBigInt(), toLong(b).toBigInt());
  if (BigInt.asIntN(64, result) !== result) {
    // For the server, integers that overflow a long become doubles in some operators and errors in others.
    throw mismatch('a 64-bit integer overflows');
  }
  const long = a instanceof Long || b instanceof Long || BigInt.asIntN(32, result) !== result;
  return long ? Long.fromBigInt(result) : new Int32(Number(result));
}

/** `$add`: numbers, or one date and a number of milliseconds; null where a value is missing. */
export function add(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) {
    return null;
  }
  if (a instanceof Date && isNumber(b)) {
    return dateAt(a.getTime() + toNumber(b));
  }
  if (b instanceof Date) {
    return a instanceof Date ? failDates() : add(b, a);
  }
  const [x, y] = numbers('$add', a, b);
  return combine(x, y, (m, n) => m + n, toNumber(x) + toNumber(y));
}

/** `$subtract`: numbers; two dates give milliseconds as a long; a date and a number give a date. */
export function subtract(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) {
    return null;
  }
  if (a instanceof Date) {
    return b instanceof Date
      ? Long.fromNumber(a.getTime() - b.getTime())
      : dateAt(a.getTime() - toNumber(numbers('$subtract', b, b)[0]));
  }
  const [x, y] = numbers('$subtract', a, b);
  return combine(x, y, (m, n) => m - n, toNumber(x) - toNumber(y));
}

/** `$multiply`: numbers. */
export function multiply(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) {
    return null;
  }
  const [x, y] = numbers('$multiply', a, b);
  return combine(x, y, (m, n) => m * n, toNumber(x) * toNumber(y));
}

/** `$divide`: always a double. */
export function divide(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) {
    return null;
  }
  const [x, y] = numbers('$divide', a, b);
  if (toNumber(y) === 0) {
    throw new ServerError(2, 'BadValue', "can't $divide by zero");
  }
  return new Double(toNumber(x) / toNumber(y));
}

/** `$toLong`: of a number, or of a date the milliseconds. */
export function convertToLong(value: Value): Value {
  if (isNullish(value)) {
    return null;
  }
  if (value instanceof Date) {
    return Long.fromNumber(value.getTime());
  }
  return toLong(numbers('$toLong', value, value)[0]);
}

/** `$toDate`: of a long or a double; the manual lists no 32-bit integer. */
export function convertToDate(value: Value): Value {
  if (isNullish(value) || value instanceof Date) {
    return value ?? null;
  }
  if (value instanceof Long || value instanceof Double) {
    return dateAt(toNumber(value));
  }
  throw new ServerError(241, 'ConversionFailure', '$toDate of what is no long and no double');
}

function numbers(operator: string, a: Value, b: Value): [NumberValue, NumberValue] {
  if (isNumber(a) && isNumber(b)) {
    return [a, b];
  }
  throw mismatch(`${operator} only supports numbers and dates`);
}

function dateAt(ms: number): Date {
  return new Date(Math.trunc(ms));
}

function failDates(): never {
  throw mismatch('only one date allowed in an $add expression');
}
