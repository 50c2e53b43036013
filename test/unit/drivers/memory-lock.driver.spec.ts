import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { MemoryScene, SECOND, START_TOKEN } from './memory-scene.js';

let scene: MemoryScene;

beforeEach(() => {
  scene = new MemoryScene();
});

describe('MemoryLockDriver', () => {
  it('is named, and says whether one process is all there is', () => {
    expect(scene.driver.name).toBe('memory');
    expect(scene.driver.singleProcess).toBe(false);
    expect(new MemoryLockDriver({ singleProcess: true }).singleProcess).toBe(true);
  });

  it('answers at once, without promises', () => {
    const answers = [
      scene.acquire('a'),
      scene.acquire('b'),
      scene.driver.renew([{ key: 'k', owner: 'a', ttl: SECOND }]),
      scene.release('a'),
      scene.driver.list(),
    ];
    for (const answer of answers) {
      expect(answer).not.toHaveProperty('then');
    }
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.driver.forceRelease('k')).toBe(false);
  });

  it('takes its time from the wall clock, in microseconds, where none is injected', () => {
    const grant = new MemoryLockDriver().acquire({ key: 'k', owner: 'a', ttl: SECOND });
    const token = 'firstToken' in grant ? grant.firstToken : 0;
    expect(Number.isSafeInteger(token)).toBe(true);
    expect(Math.abs(token / 1000 - Date.now())).toBeLessThan(60 * SECOND);
  });

  describe('a lease', () => {
    it('is denied to others, who are told whose it is and for how long, rounded up', () => {
      scene.acquire('a');
      scene.pass(1500);
      expect(scene.acquire('b')).toEqual({ owner: 'a', retryAfter: 9999 });
    });

    it('ends with its ttl, to the microsecond', () => {
      scene.acquire('a', { ttl: 2 });
      scene.pass(1999);
      expect(scene.acquire('b')).toEqual({ owner: 'a', retryAfter: 1 });
      scene.pass(1);
      expect(scene.acquire('b')).toHaveProperty('firstToken');
    });

    it('is renewed by its owner alone', () => {
      scene.acquire('a');
      expect(scene.renew('b', { ttl: 60 * SECOND })).toEqual({ renewed: false });
      expect(scene.driver.inspect('k')).toMatchObject({ owner: 'a', remaining: 10 * SECOND });
    });

    it('is made longer by a renewal, and shorter only where that is asked for', () => {
      scene.acquire('a');
      scene.renew('a', { ttl: 20 * SECOND });
      expect(scene.driver.inspect('k')?.remaining).toBe(20 * SECOND);
      scene.renew('a', { ttl: SECOND });
      expect(scene.driver.inspect('k')?.remaining).toBe(20 * SECOND);
      scene.renew('a', { ttl: SECOND, shorten: true });
      expect(scene.driver.inspect('k')?.remaining).toBe(SECOND);
    });

    it('that has expired is revived by a late renewal, for nobody took it', () => {
      scene.acquire('a', { ttl: SECOND });
      scene.passMs(2 * SECOND);
      expect(scene.renew('a')).toEqual({ renewed: true });
      expect(scene.acquire('b')).toMatchObject({ owner: 'a' });
    });

    it('that has expired is still released by its owner, for nobody took it, and then not renewed', () => {
      scene.acquire('a', { ttl: SECOND });
      scene.passMs(SECOND);
      expect(scene.release('a')).toEqual({ released: true });
      expect(scene.driver.inspect('k')).toBeNull();
      expect(scene.renew('a')).toEqual({ renewed: false });
      expect(scene.release('a')).toEqual({ released: false });
    });

    it('that has expired cannot be renewed after a forced release', () => {
      scene.acquire('a', { ttl: SECOND });
      scene.passMs(SECOND);
      expect(scene.driver.forceRelease('k')).toBe(false);
      expect(scene.renew('a')).toEqual({ renewed: false });
    });

    it('is released by its owner alone', () => {
      scene.acquire('a');
      expect(scene.release('b')).toEqual({ released: false });
      expect(scene.driver.inspect('k')).toMatchObject({ owner: 'a' });
      expect(scene.release('a')).toEqual({ released: true });
      expect(scene.driver.inspect('k')).toBeNull();
    });

    it.each([undefined, 500])(
      'stays released when the clock is set back, wanted for %s',
      (wantFor) => {
        scene.acquire('a');
        scene.acquire('b', { wantFor });
        scene.release('a');
        scene.passMs(-SECOND);
        expect(scene.driver.inspect('k')).toBeNull();
        expect(scene.acquire('b')).toHaveProperty('firstToken');
      },
    );

    it('is kept taken under no owner by retainFor', () => {
      scene.acquire('a');
      scene.release('a', { retainFor: 3 * SECOND });
      expect(scene.driver.inspect('k')).toMatchObject({ owner: '', remaining: 3 * SECOND });
      expect(scene.acquire('a')).toEqual({ retryAfter: 3 * SECOND });
      scene.passMs(3 * SECOND);
      expect(scene.acquire('b')).toHaveProperty('firstToken');
    });
  });

  describe('the wanted mark', () => {
    beforeEach(() => void scene.acquire('a'));

    it('is left by a denied try that will come back, and lasts as long as the longest', () => {
      scene.acquire('b', { wantFor: 500 });
      scene.acquire('c', { wantFor: 200 });
      scene.passMs(100);
      expect(scene.release('a')).toEqual({ released: true, wantedFor: 400 });
    });

    it('is left by no other', () => {
      scene.acquire('b');
      expect(scene.release('a')).toEqual({ released: true });
    });

    it('runs out', () => {
      scene.acquire('b', { wantFor: 500 });
      scene.passMs(500);
      expect(scene.release('a')).toEqual({ released: true });
    });

    it('is cleared by a grant', () => {
      scene.acquire('b', { wantFor: 500 });
      scene.release('a');
      scene.acquire('c');
      expect(scene.release('c')).toEqual({ released: true });
    });

    it('is told although a listener takes the lock while it is released', () => {
      scene.acquire('b', { wantFor: 500 });
      scene.driver.onReleased('k', () => void scene.acquire('b'));
      expect(scene.release('a')).toEqual({ released: true, wantedFor: 500 });
    });
  });

  it('lists what is held, by a literal prefix, up to a limit', () => {
    for (const key of ['a:1', 'a:2', 'a:3', 'A:1', 'b:1', 'a%']) {
      scene.acquire('x', { key });
    }
    scene.release('x', { key: 'a:3' });
    const keys = (prefix?: string, limit?: number) =>
      scene.driver.list({ prefix, limit }).map((record) => record.key);
    expect(keys('a:')).toEqual(['a:1', 'a:2']);
    expect(keys('a%')).toEqual(['a%']);
    expect(keys(undefined, 3)).toHaveLength(3);
    expect(keys()).toHaveLength(5);
    expect(scene.driver.list({ prefix: 'b:' })).toEqual([
      { key: 'b:1', owner: 'x', fencingToken: String(START_TOKEN), remaining: 10 * SECOND },
    ]);
  });

  it('lists a hundred where no limit is given', () => {
    for (let count = 0; count < 101; count++) {
      scene.acquire('x', { key: `k:${count}` });
    }
    expect(scene.driver.list()).toHaveLength(100);
  });
});
