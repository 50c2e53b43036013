import { beforeEach, describe, expect, it } from 'vitest';
import type { AcquireRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { follow, LeaseScene, TTL } from './lease-scene.js';

describe('what is still to be given back when the engine stops', () => {
  let scene: LeaseScene;

  beforeEach(async () => {
    scene = new LeaseScene('async', { wait: 100 });
    scene.driver.manner.acquire = 'manual';
    void follow(scene.acquire('a'));
    void follow(scene.acquire('b'));
    await scene.clock.advance(100);
    scene.driver.calls = [];
  });

  it('is asked for once more, each by its owner, and then no more', async () => {
    await scene.engine.stop();
    expect(scene.requests<AcquireRequest>('release').map(({ key }) => key)).toEqual(['a', 'b']);
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.count('release')).toBe(2);
    expect(scene.clock.timers).toBe(0);
  });

  it.each(['hang', 'reject', 'throw'] as const)(
    'holds up the stop for a second at most when releases %s',
    async (manner) => {
      scene.driver.manner.release = manner;
      const stopped = follow(scene.engine.stop());
      await scene.clock.advance(1000);
      expect(stopped.state).toBe('resolved');
      expect(scene.clock.timers).toBe(0);
    },
  );

  it('is given back though it was granted after the stop', async () => {
    await scene.engine.stop();
    scene.driver.next('acquire').answer();
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(scene.driver.list()).toEqual([]);
    expect(scene.clock.timers).toBe(0);
  });

  it('does not wait for anything when there is nothing', async () => {
    const idle = new LeaseScene('async');
    const stopped = follow(idle.engine.stop());
    await idle.clock.settle();
    expect(stopped.state).toBe('resolved');
    expect(idle.clock.timers).toBe(0);
  });

  it('is left to its ttl, and not released, while work under it still runs', async () => {
    scene.driver.manner.acquire = 'async';
    let end!: () => void;
    const running = follow(
      scene.withLock('c', () => new Promise<void>((resolve) => (end = () => resolve()))),
    );
    await scene.clock.settle();
    const stopped = follow(scene.engine.stop());
    await scene.clock.advance(2000);
    expect(stopped.state).toBe('resolved');
    expect(scene.requests<AcquireRequest>('release').map(({ key }) => key)).not.toContain('c');
    end();
    await scene.clock.settle();
    expect(running.error).toMatchObject({ code: 'LOCK_LOST', reason: 'stopped' });
    expect(scene.driver.inspect('c')).toBeNull();
  });
});
