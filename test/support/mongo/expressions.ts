import { add, convertToDate, convertToLong, divide, multiply, subtract } from './arithmetic.js';
import {
  compare,
  type Document,
  isDocument,
  isNullish,
  isNumber,
  ServerError,
  toNumber,
  unknown,
  type Value,
} from './values.js';

/** What an expression can see: the document, and the time of the command. */
export interface Scope {
  readonly document: Document;
  readonly now: Date;
}

type Operator = (args: Value, scope: Scope) => Value;

const dyadic =
  (operation: (a: Value, b: Value) => Value): Operator =>
  (args, scope) => {
    const [a, b, ...more] = list(args, scope);
    if (more.length > 0) {
      throw unknown('more than two operands');
    }
    return operation(a, b);
  };

const comparison = (test: (order: number) => boolean): Operator =>
  dyadic((a, b) => test(compare(a, b)));

/** Ignores what is null or missing; null when there is nothing else. */
const extreme =
  (sign: 1 | -1): Operator =>
  (args, scope) => {
    const [best = null] = list(args, scope)
      .filter((value) => !isNullish(value))
      .toSorted((a, b) => sign * compare(b, a));
    return best;
  };

/** The operators that the driver uses, each as the manual describes it. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  $literal: (value) => value,
  $ifNull: dyadic((value, otherwise) => (isNullish(value) ? otherwise : value)),
  $eq: comparison((order) => order === 0),
  $gt: comparison((order) => order > 0),
  $lte: comparison((order) => order <= 0),
  $max: extreme(1),
  $min: extreme(-1),
  $add: dyadic(add),
  $subtract: dyadic(subtract),
  $multiply: dyadic(multiply),
  $divide: dyadic(divide),
  $toLong: (args, scope) => convertToLong(evaluate(args, scope)),
  $toDate: (args, scope) => convertToDate(evaluate(args, scope)),
  $cond: (args, scope) => {
    const [test, then, otherwise] = args as [Value, Value, Value];
    return evaluate(isTrue(evaluate(test, scope)) ? then : otherwise, scope);
  },
};

/** The value of an expression; undefined where it is a field that is missing. */
export function evaluate(expression: Value, scope: Scope): Value {
  if (typeof expression === 'string' && expression.startsWith('$')) {
    return expression.startsWith('$$')
      ? variable(expression, scope)
      : path(expression.slice(1), scope.document);
  }
  if (!isDocument(expression)) {
    return constant(expression);
  }
  const [[name, args] = ['', undefined], ...more] = Object.entries(expression);
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (operator === undefined || more.length > 0) {
    throw name.startsWith('$')
      ? new ServerError(168, 'InvalidPipelineOperator', `Unrecognized expression '${name}'`)
      : unknown('documents as expressions');
  }
  return operator(args, scope);
}

/** The value at a dotted path; arrays are not walked through. */
export function path(dotted: string, document: Value): Value {
  let value = document;
  for (const name of dotted.split('.')) {
    if (Array.isArray(value)) {
      throw unknown('paths through arrays');
    }
    value = isDocument(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

function variable(name: string, scope: Scope): Date {
  if (name !== '$$NOW') {
    throw new ServerError(17276, 'Location17276', `Use of undefined variable: ${name.slice(2)}`);
  }
  return scope.now;
}

function constant(value: Value): Value {
  if (Array.isArray(value) || value === undefined) {
    throw unknown('arrays as expressions');
  }
  return value;
}

function list(args: Value, scope: Scope): Value[] {
  if (!Array.isArray(args)) {
    throw unknown('operators with one operand that is no array');
  }
  return args.map((arg) => evaluate(arg, scope));
}

function isTrue(value: Value): boolean {
  if (isNumber(value)) {
    return toNumber(value) !== 0;
  }
  return !isNullish(value) && value !== false;
}
