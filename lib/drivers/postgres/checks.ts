import { LockKeyError } from '../../errors/lock-key.error.js';

/** What the engine makes of a key is never longer. */
export const MAX_KEY_BYTES = 512;

/** Before it shares a statement with others: the server refuses NUL, and takes all lone surrogates for one character. */
export function checkText(text: string, what: 'key' | 'owner' | 'prefix'): void {
  if (typeof text !== 'string' || text.includes('\0') || !isWellFormed(text)) {
    throw new LockKeyError(
      `The ${what} ${JSON.stringify(text)} must be a string without NUL and without lone surrogates`,
    );
  }
}

export function checkKey(key: string): void {
  checkText(key, 'key');
  if (key === '') {
    throw new LockKeyError('A key must not be empty');
  }
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) {
    throw new LockKeyError(`A key of more than ${MAX_KEY_BYTES} bytes: ${key.slice(0, 60)}...`);
  }
}

/** Who asks for what. */
export function checkLease({ key, owner }: { readonly key: string; readonly owner: string }): void {
  checkKey(key);
  checkText(owner, 'owner');
}

const LONE_SURROGATE = /\p{Cs}/u;

function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}
