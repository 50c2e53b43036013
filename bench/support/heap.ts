/** Bytes of the heap that are in use once all garbage is gone. */
export function heapUsed(): number {
  if (globalThis.gc === undefined) {
    throw new Error('Start node with --expose-gc');
  }
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
