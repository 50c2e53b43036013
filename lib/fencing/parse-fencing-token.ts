import { FencingTokenError } from '../errors/fencing-token.error.js';
import { kindOf } from '../key/kind-of.js';

/** What backends can store: 63 bits. */
const LARGEST = 2n ** 63n - 1n;

const DECIMAL = /^[0-9]{1,19}$/;

const LONGEST_SHOWN = 40;

/** The token that a caller or a request gives, or a `FencingTokenError` for what none can be. */
export function parseFencingToken(value: unknown): bigint {
  const token = toBigInt(value);
  if (token === undefined || token <= 0n || token > LARGEST) {
    throw new FencingTokenError(
      `${show(value)} is no fencing token: that is a bigint, a decimal string or a safe integer, above 0 and below 2^63`,
    );
  }
  return token;
}

function toBigInt(value: unknown): bigint | undefined {
  switch (typeof value) {
    case 'bigint':
      return value;
    case 'string':
      return DECIMAL.test(value) ? BigInt(value) : undefined;
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : undefined;
    default:
      return undefined;
  }
}

function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(
      value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}...` : value,
    );
  }
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : kindOf(value);
}
