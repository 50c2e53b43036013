import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';

/** How an instance is called in messages: `FencingGate`, `FencingGate(billing)`. */
export function fencingGateName(name: string): string {
  return name === DEFAULT_LOCK_NAME ? 'FencingGate' : `FencingGate(${name})`;
}
