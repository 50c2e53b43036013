import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE = 30_000;
const INTERVAL = 10;

/** Asks until the answer is yes; what goes wrong on the way counts as no, until patience ends. */
export async function eventually(
  what: string,
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (let problem: unknown; ;) {
    try {
      if (await holds()) {
        return;
      }
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`Still not so after ${PATIENCE} ms: ${what}`, { cause: problem });
    }
    await sleep(INTERVAL);
  }
}
