import { DEFAULT_LOCK_NAME } from './distributed-lock.constants.js';

/** How an instance is called in messages and in the log: `LockService`, `LockService(billing)`. */
export function lockServiceName(name: string): string {
  return name === DEFAULT_LOCK_NAME ? 'LockService' : `LockService(${name})`;
}
