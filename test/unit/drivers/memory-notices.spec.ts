import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ReleaseNotices } from '../../../lib/drivers/release-notices.js';
import { MemoryScene, SECOND } from './memory-scene.js';

let scene: MemoryScene;

beforeEach(() => {
  scene = new MemoryScene();
});

describe('memory: a notice of release', () => {
  it('comes before release returns, when the lock can be had already', () => {
    scene.acquire('a');
    let answer: unknown;
    scene.driver.onReleased('k', () => (answer = scene.acquire('b')));
    scene.release('a');
    expect(answer).toHaveProperty('firstToken');
  });

  it('comes by a forced release, and by one that keeps the key taken', () => {
    const listener = vi.fn<() => void>();
    scene.driver.onReleased('k', listener);
    scene.acquire('a');
    scene.driver.forceRelease('k');
    expect(listener).toHaveBeenCalledTimes(1);
    scene.acquire('b');
    scene.release('b', { retainFor: SECOND });
    expect(listener).toHaveBeenCalledTimes(2);
  });

  it('does not come for another key, nor where nothing was released', () => {
    const listener = vi.fn<() => void>();
    scene.driver.onReleased('k', listener);
    scene.acquire('a', { key: 'other' });
    scene.release('a', { key: 'other' });
    scene.acquire('a');
    scene.release('b');
    expect(listener).not.toHaveBeenCalled();
  });

  it('goes to every subscription, of the same function too, until each is ended', () => {
    const listener = vi.fn<() => void>();
    const first = scene.driver.onReleased('k', listener);
    scene.driver.onReleased('k', listener);
    scene.acquire('a');
    scene.release('a');
    expect(listener).toHaveBeenCalledTimes(2);
    first();
    first();
    scene.acquire('b');
    scene.release('b');
    expect(listener).toHaveBeenCalledTimes(3);
  });

  it('does not go to a listener that an earlier one has unsubscribed', () => {
    const second = vi.fn<() => void>();
    scene.driver.onReleased('k', () => unsubscribe());
    const unsubscribe = scene.driver.onReleased('k', second);
    scene.acquire('a');
    scene.release('a');
    expect(second).not.toHaveBeenCalled();
  });

  it('does not go to a listener that subscribes while it is told', () => {
    const late = vi.fn<() => void>();
    const unsubscribe = scene.driver.onReleased('k', () => scene.driver.onReleased('k', late));
    scene.acquire('a');
    scene.release('a');
    expect(late).not.toHaveBeenCalled();
    unsubscribe();
    scene.acquire('b');
    scene.release('b');
    expect(late).toHaveBeenCalledTimes(1);
  });

  it('goes to a listener that comes back while it is told', () => {
    const again = vi.fn<() => void>();
    const unsubscribe = scene.driver.onReleased('k', () => {
      unsubscribe();
      scene.driver.onReleased('k', again);
    });
    scene.acquire('a');
    scene.release('a');
    scene.acquire('b');
    scene.release('b');
    expect(again).toHaveBeenCalledTimes(1);
  });

  it('leaves nothing behind of a key that nobody listens to any more', () => {
    const notices = new ReleaseNotices();
    const first = notices.subscribe('k', () => undefined);
    const second = notices.subscribe('k', () => undefined);
    first();
    expect(notices.size).toBe(1);
    second();
    expect(notices.size).toBe(0);
  });

  it('may lead to a release in turn', () => {
    const owners = ['b', 'c', 'd'];
    scene.driver.onReleased('k', () => {
      const next = owners.shift();
      if (next !== undefined) {
        scene.acquire(next);
        scene.release(next);
      }
    });
    scene.acquire('a');
    expect(scene.release('a')).toEqual({ released: true });
    expect(owners).toEqual([]);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('reaches the others, and the lock is free, although a listener throws', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const listener = vi.fn<() => void>();
    scene.driver.onReleased('k', () => {
      throw new Error('broken listener');
    });
    scene.driver.onReleased('k', listener);
    scene.acquire('a');
    expect(scene.release('a')).toEqual({ released: true });
    expect(listener).toHaveBeenCalledTimes(1);
    expect(scene.driver.inspect('k')).toBeNull();
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ message: 'broken listener' }));
    warn.mockRestore();
  });
});
