import { LockConfigError } from '../errors/lock-config.error.js';
import { LockKeyError } from '../errors/lock-key.error.js';
import { encodeValue, separates, whyNoKeyPart } from './encode-value.js';

/** What can stand in a key: anything but undefined, null and symbols; an object needs a `toString` of its own. */
export type LockKeyValue = string | number | bigint | boolean | object;

const checked = new WeakSet<TemplateStringsArray>();

/**
 * Makes a key of values that cannot alias another key, whatever is in them: `` lockKey`order:${id}` ``. A value that is
 * missing is a `LockKeyError`, so that nobody ever locks `order:undefined`.
 */
export function lockKey(strings: TemplateStringsArray, ...values: LockKeyValue[]): string {
  if (!checked.has(strings)) {
    checkTemplate(strings);
    checked.add(strings);
  }
  let key = strings[0] as string;
  for (let i = 0; i < values.length; i++) {
    const part = encodeValue(values[i]);
    if (part === undefined) {
      throw new LockKeyError(`${show(strings)}: placeholder ${i + 1} ${whyNoKeyPart(values[i])}`);
    }
    key += part + (strings[i + 1] as string);
  }
  return key;
}

function checkTemplate(strings: TemplateStringsArray): void {
  if (!Array.isArray(strings) || strings.some((literal) => typeof literal !== 'string')) {
    throw new LockConfigError(
      'lockKey is a template tag: write lockKey`order:${id}`, without parentheses',
    );
  }
  if (strings.length === 1 && strings[0] === '') {
    throw new LockKeyError('lockKey``: a key must not be empty');
  }
  const glued = strings.slice(1, -1).findIndex((literal) => !separates(literal));
  if (glued >= 0) {
    throw new LockConfigError(
      `${show(strings)}: between placeholder ${glued + 1} and ${glued + 2} there must be one of : / | < > { } or a ` +
        `blank, or different values make the same key`,
    );
  }
}

function show(strings: TemplateStringsArray): string {
  return `lockKey\`${strings.join('${...}')}\``;
}
