import { isDate, isPromise } from 'node:util/types';

/** What a value is, in words for a message; never what is in it. */
export function kindOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value === '' ? 'an empty string' : 'a string';
    case 'number':
      return Number.isFinite(value) ? 'a number' : String(value);
    case 'object':
      return kindOfObject(value);
    case 'undefined':
      return 'undefined';
    default:
      return `a ${typeof value}`;
  }
}

function kindOfObject(value: object | null): string {
  if (value === null) {
    return 'null';
  }
  if (Array.isArray(value)) {
    return 'an array';
  }
  if (isPromise(value)) {
    return 'a promise that was not awaited';
  }
  if (isDate(value)) {
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : 'a Date';
  }
  const className = classNameOf(value);
  return className === undefined ? 'a plain object' : `an instance of ${className}`;
}

function classNameOf(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (
    typeof prototype !== 'object' ||
    prototype === null ||
    Object.getPrototypeOf(prototype) === null
  ) {
    return undefined;
  }
  return prototype.constructor?.name || 'an anonymous class';
}
