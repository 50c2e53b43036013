import { describe, expect, it } from 'vitest';
import { LockEngine } from '../../../lib/core/lock-engine.js';
import { LockEvents } from '../../../lib/core/lock-events.js';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { DEFAULTS } from '../../support/engine.js';
import { microtasks } from '../../support/fake-clock.js';
import { Scene } from '../../support/scene.js';

/** More turns than may follow one another, so that a test without the yield ends all the same. */
const MANY = 2000;

/** A loop of turns on a driver that answers at once: none of it needs more than microtasks. */
type Storm = (scene: Scene, turn: () => void) => Promise<unknown>;

const STORMS: Record<string, Storm> = {
  'taken and released in a loop': async ({ here }, turn) => {
    for (let i = 0; i < MANY; i++) {
      const lock = await here.acquire('k');
      turn();
      await lock.release();
    }
  },
  'taken and released in a loop, of many keys': async ({ here }, turn) => {
    for (let i = 0; i < MANY; i++) {
      const lock = await here.acquire(`k${i}`);
      turn();
      await lock.release();
    }
  },
  'used by withLock in a loop': async ({ here }, turn) => {
    for (let i = 0; i < MANY; i++) {
      await here.withLock('k', turn);
    }
  },
  'handed over along a line': ({ here }, turn) =>
    Promise.all(Array.from({ length: MANY }, () => here.withLock('k', turn))),
  'released along a line': ({ here }, turn) =>
    Promise.all(Array.from({ length: MANY }, () => here.withLock('k', turn, { handover: false }))),
  'joined in a loop': ({ here }, turn) =>
    here.withLock('k', async () => {
      for (let i = 0; i < MANY; i++) {
        await here.withLock('k', turn);
      }
    }),
  'joined by siblings': ({ here }, turn) =>
    here.withLock('k', () =>
      Promise.all(Array.from({ length: MANY }, () => here.withLock('k', turn))),
    ),
  'of several keys': async ({ here }, turn) => {
    for (let i = 0; i < MANY; i++) {
      const lock = await here.acquireAll(['k', 'l']);
      turn();
      await lock.release();
    }
  },
  'asked for in vain, because it is held here': async ({ here }, turn) => {
    await here.acquire('k');
    await spin(here, turn);
  },
  'asked for in vain, because it is held elsewhere': async ({ here, there }, turn) => {
    await there.acquire('k');
    await spin(here, turn);
  },
  'asked for in vain, because of its minHold': async ({ here }, turn) => {
    await (await here.acquire('k', { minHold: 10_000 })).release();
    await spin(here, turn);
  },
  'asked for in vain, because others go first': async ({ here, there }, turn) => {
    const lock = await here.acquire('k');
    void there.acquire('k', { wait: Infinity });
    await lock.release();
    await spin(here, turn);
  },
  'asked for in vain with others': async ({ here, there }, turn) => {
    await there.acquire('l');
    for (let i = 0; i < MANY; i++) {
      await here.acquireAll(['k', 'l'], { wait: 0 }).catch(() => undefined);
      turn();
    }
  },
  'asked for in vain by its holder': ({ here }, turn) =>
    here.withLock('k', async () => {
      for (let i = 0; i < MANY; i++) {
        await here.acquire('k', { reentrant: false }).catch(() => undefined);
        turn();
      }
    }),
  'asked for with a signal that has aborted': async ({ here }, turn) => {
    for (let i = 0; i < MANY; i++) {
      await here.acquire('k', { signal: AbortSignal.abort() }).catch(() => undefined);
      turn();
    }
  },
  'asked for after the stop': async ({ here }, turn) => {
    await here.engine.stop();
    await spin(here, turn);
  },
};

async function spin(engine: Scene['here'], turn: () => void): Promise<void> {
  for (let i = 0; i < MANY; i++) {
    await engine.acquire('k', { wait: 0 }).catch(() => undefined);
    turn();
  }
}

describe.each(Object.entries(STORMS))('a lock that is %s', (_name, storm) => {
  it('lets the event loop go on after 256 turns at most', async () => {
    const scene = new Scene();
    await scene.warmUp();
    let turns = 0;
    const done = storm(scene, () => turns++);

    await microtasks();
    expect(turns).toBeGreaterThan(0);
    expect(turns).toBeLessThanOrEqual(256);
    expect(scene.clock.immediates).toBeGreaterThan(0);

    await scene.clock.settle();
    await done;
    expect(turns).toBe(MANY);
  });
});

function engineOfItsOwn(): LockEngine {
  return new LockEngine({
    driver: new MemoryLockDriver(),
    node: 'n',
    events: new LockEvents(),
    clockSkew: 0,
    handoverMaxTime: 100,
    parseTtl: Number,
  });
}

describe('a storm of turns in real time', () => {
  const TOO_MANY = 1_000_000;

  it.each([true, false])('lets timers fire (hand-over: %s)', async (handover) => {
    const locks = engineOfItsOwn();
    const timer = new AbortController();
    setTimeout(() => timer.abort(), 0);
    let turns = 0;
    const loop = async (): Promise<void> => {
      while (!timer.signal.aborted && turns < TOO_MANY) {
        const lock = await locks.acquire('k', { ...DEFAULTS, handover });
        turns++;
        await lock.release();
      }
    };

    await Promise.all(Array.from({ length: 100 }, loop));

    expect(timer.signal.aborted).toBe(true);
    await locks.stop();
  });

  it('lets the holder get on while others ask for the lock in a tight loop', async () => {
    const locks = engineOfItsOwn();
    const holder = await locks.acquire('k', DEFAULTS);
    setTimeout(() => void holder.release(), 0);

    let got = null;
    for (let tries = 0; got === null && tries < TOO_MANY; tries++) {
      got = await (async () => locks.acquire('k', { ...DEFAULTS, wait: 0 }))().catch(() => null);
    }

    expect(got?.held).toBe(true);
    await locks.stop();
  });
});
