import {
  isNumber,
  compare,
  type Document,
  isDocument,
  ServerError,
  toNumber,
  typeRank,
  unknown,
  type Value,
} from './values.js';
import { evaluate, path, type Scope } from './expressions.js';

/** Whether a document matches a filter; comparisons are of like types only. */
export function matches(filter: Document, document: Document): boolean {
  return Object.entries(filter).every(([name, condition]) => {
    if (name === '$or') {
      return (condition as Document[]).some((either) => matches(either, document));
    }
    if (name.startsWith('$')) {
      throw unknown(`the filter ${name}`);
    }
    return satisfies(path(name, document), condition);
  });
}

const CONDITIONS: Readonly<Record<string, (value: Value, operand: Value) => boolean>> = {
  $in: (value, operand) => (operand as Value[]).some((each) => equals(value, each)),
  $gt: (value, operand) => alike(value, operand) && compare(value, operand) > 0,
  $gte: (value, operand) => alike(value, operand) && compare(value, operand) >= 0,
  $lt: (value, operand) => alike(value, operand) && compare(value, operand) < 0,
  $lte: (value, operand) => alike(value, operand) && compare(value, operand) <= 0,
  $type: (value, operand) => {
    if (operand !== 'date') {
      throw unknown(`the type ${String(operand)}`);
    }
    return value instanceof Date;
  },
};

function satisfies(value: Value, condition: Value): boolean {
  if (!isDocument(condition)) {
    return equals(value, condition);
  }
  return Object.entries(condition).every(([name, operand]) => {
    const test = Object.hasOwn(CONDITIONS, name) ? CONDITIONS[name] : undefined;
    if (test === undefined) {
      throw unknown(`the condition ${name}`);
    }
    return test(value, operand);
  });
}

const alike = (a: Value, b: Value): boolean => typeRank(a) === typeRank(b);

/** In a filter null also matches what is missing; the driver must not need that. */
function equals(value: Value, operand: Value): boolean {
  if (typeof operand !== 'string') {
    throw unknown('equality of anything but strings');
  }
  return value === operand;
}

/** Applies the stages of an update, which see what the stage before has made. */
export function update(document: Document, pipeline: readonly Document[], now: Date): Document {
  return pipeline.reduce((current, stage) => apply(current, stage, now), document);
}

function apply(document: Document, stage: Document, now: Date): Document {
  const [[name, argument] = ['', undefined], ...more] = Object.entries(stage);
  if (name === '$set' && more.length === 0) {
    return set(document, argument as Document, now);
  }
  if (name === '$unset' && typeof argument === 'string' && more.length === 0) {
    const { [argument]: _, ...rest } = document;
    return rest;
  }
  throw new ServerError(40324, 'Location40324', `Unrecognized pipeline stage name: '${name}'`);
}

/** All values are computed from the document before the stage. */
function set(document: Document, fields: Document, now: Date): Document {
  const changed = structuredCopy(document);
  for (const [dotted, expression] of Object.entries(fields)) {
    const value = evaluate(expression, { document, now });
    if (value === undefined) {
      throw unknown('what to set a field to that shall be a missing one');
    }
    put(changed, dotted.split('.'), value);
  }
  if (compare(changed['_id'], document['_id']) !== 0) {
    throw new ServerError(66, 'ImmutableField', "the field '_id' is immutable");
  }
  return changed;
}

function put(document: Document, [name = '', ...rest]: readonly string[], value: Value): void {
  if (rest.length === 0) {
    document[name] = value;
  } else {
    const inner = isDocument(document[name]) ? document[name] : {};
    document[name] = inner;
    put(inner, rest, value);
  }
}

/** Deep for documents; other values never change. */
function structuredCopy(document: Document): Document {
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [
      name,
      isDocument(value) ? structuredCopy(value) : value,
    ]),
  );
}

/** Included and computed fields, and `_id` unless it is excluded; what is missing stays away. */
export function project(
  document: Document,
  projection: Document | undefined,
  scope: Scope,
): Document {
  if (projection === undefined || Object.keys(projection).length === 0) {
    return document;
  }
  const projected: Document = { _id: document['_id'] };
  for (const [name, how] of Object.entries(projection)) {
    if (isNumber(how) && name === '_id' && toNumber(how) === 0) {
      delete projected['_id'];
      continue;
    }
    if (isNumber(how) && toNumber(how) !== 1) {
      throw unknown('projections that exclude');
    }
    const value = isNumber(how) ? path(name, document) : evaluate(how, scope);
    if (value !== undefined) {
      projected[name] = value;
    }
  }
  return projected;
}
