import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all garbage now; node has it only with a flag otherwise. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** The bytes in use when all garbage is gone. */
export function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
