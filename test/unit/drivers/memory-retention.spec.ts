import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryScene, SECOND, START_TOKEN } from './memory-scene.js';

let scene: MemoryScene;

beforeEach(() => {
  scene = new MemoryScene();
});

/** Enough new locks for the sweep to go round. */
function goRound(): void {
  for (let round = scene.driver.size * 2; round > 0; round--) {
    scene.acquire('filler', { key: `filler:${round}:${scene.time}` });
    scene.release('filler', { key: `filler:${round}:${scene.time}` });
  }
}

/** A lock without a record never grants a block. */
function remembers(key: string): boolean {
  const grant = scene.acquire('probe', { key, tokens: 2 });
  return 'tokens' in grant && grant.tokens === 2;
}

describe('memory: what is remembered', () => {
  it('is bounded over a million keys', () => {
    let largest = 0;
    for (let count = 0; count < 1_000_000; count++) {
      scene.acquire('a', { key: `k:${count}` });
      scene.release('a', { key: `k:${count}` });
      scene.pass(1000);
      largest = Math.max(largest, scene.driver.size);
    }
    // One second, the retention, is a thousand keys here.
    expect(largest).toBeGreaterThanOrEqual(1000);
    expect(largest).toBeLessThan(2200);
  });

  it('is bounded where leases expire instead of being released', () => {
    for (let count = 0; count < 100_000; count++) {
      scene.acquire('a', { key: `k:${count}`, ttl: 1 });
      scene.pass(1000);
    }
    expect(scene.driver.size).toBeLessThan(2200);
  });

  it('comes down again after a crowd has left', () => {
    for (let count = 0; count < 50_000; count++) {
      scene.acquire('a', { key: `k:${count}` });
    }
    for (let count = 0; count < 50_000; count++) {
      scene.release('a', { key: `k:${count}` });
    }
    scene.passMs(2 * SECOND);
    for (let count = 0; count < 100_000; count++) {
      scene.acquire('a', { key: 'new' + count });
      scene.release('a', { key: 'new' + count });
      scene.passMs(1);
    }
    expect(scene.driver.size).toBeLessThan(2200);
  });

  it('is a free lock for a second after its last token, so that the next is larger, and no longer', () => {
    scene.acquire('a');
    scene.release('a');
    scene.pass(999_999);
    goRound();
    expect(remembers('k')).toBe(true);
    scene.driver.forceRelease('k');
    scene.pass(1_000_000);
    goRound();
    expect(remembers('k')).toBe(false);
  });

  it('is a held lock, for as long as it is held', () => {
    scene.acquire('a', { ttl: 3600 * SECOND });
    scene.passMs(3599 * SECOND);
    goRound();
    expect(scene.driver.inspect('k')).toMatchObject({ owner: 'a' });
  });

  it('is a lock whose tokens are ahead of the clock, until it has caught up', () => {
    let last = 0;
    for (let count = 0; count < 3_000_000; count++) {
      const grant = scene.acquire('a');
      last = 'firstToken' in grant ? grant.firstToken : 0;
      scene.release('a');
    }
    expect(last).toBe(START_TOKEN + 2_999_999);
    scene.passMs(2 * SECOND);
    goRound();
    expect(scene.acquire('b')).toEqual({ firstToken: last + 1, tokens: 1 });
  });
});
