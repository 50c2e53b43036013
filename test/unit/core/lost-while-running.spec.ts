import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { follow, LeaseScene, LIFE, TTL } from './lease-scene.js';

describe.each(['sync', 'async'] as const)(
  'work under a lock, with a driver that is %s,',
  (manner) => {
    let scene: LeaseScene;

    beforeEach(() => {
      scene = new LeaseScene(manner);
    });

    it.each([undefined, null, 0, '', 'result', Promise.resolve('later')])(
      'gives its own result (%s), and the lock is free by then',
      async (result) => {
        expect(await scene.withLock('k', () => result)).toBe(await result);
        expect(scene.driver.inspect('k')).toBeNull();
      },
    );

    it.each([
      new Error('mine'),
      new LockTimeoutError({ keys: ['x'], waited: 0 }),
      'text',
      undefined,
      null,
    ])('fails with its own error (%s), and the lock is free by then', async (own) => {
      const rejected = follow(scene.withLock('k', () => Promise.reject(own)));
      const thrown = follow(
        scene.withLock('k', () => {
          throw own;
        }),
      );
      await scene.clock.advance(100);
      for (const fate of [rejected, thrown]) {
        expect(fate.state).toBe('rejected');
        expect(fate.error).toBe(own);
      }
      expect(scene.driver.inspect('k')).toBeNull();
    });

    it('fails with its own LockLostError when that is of another lock', async () => {
      const foreign = new LockLostError({ keys: ['other'], reason: 'taken' });
      await expect(scene.withLock('k', () => Promise.reject(foreign))).rejects.toBe(foreign);
    });

    it('gets the handle', async () => {
      await scene.withLock('k', (lock) => {
        expect(lock.keys).toEqual(['k']);
        expect(lock.held).toBe(true);
        expect(scene.engine.current('k')).toBe(lock);
      });
    });

    it('may release by itself, and has not lost anything by that', async () => {
      const result = await scene.withLock('k', async (lock) => {
        expect(await lock.release()).toBe(true);
        return 'done';
      });
      expect(result).toBe('done');
      expect(scene.driver.count('release')).toBe(1);
    });

    it('gives its result though its release fails', async () => {
      scene.driver.manner.release = 'reject';
      expect(await scene.withLock('k', () => 'done')).toBe('done');
    });

    it('gives its error though its release fails', async () => {
      const error = new Error('mine');
      scene.driver.manner.release = 'reject';
      await expect(scene.withLock('k', () => Promise.reject(error))).rejects.toBe(error);
    });

    describe('when the lock is lost meanwhile', () => {
      it('is awaited to its end, and then fails with the loss instead of its result', async () => {
        let end!: (result: string) => void;
        const running = follow(
          scene.withLock('k', () => new Promise<string>((resolve) => (end = resolve)), {
            maxHold: 100,
          }),
        );
        await scene.clock.advance(500);
        expect(running.state).toBe('pending');
        end('done');
        await scene.clock.settle();
        expect(running.error).toBeInstanceOf(LockLostError);
        expect(running.error).toMatchObject({ reason: 'maxHold', keys: ['k'] });
      });

      it('fails with the loss instead of its error, which becomes the cause', async () => {
        const error = new Error('mine');
        const running = scene.withLock('k', () => {
          scene.clock.block(TTL);
          throw error;
        });
        await expect(running).rejects.toMatchObject({
          code: 'LOCK_LOST',
          reason: 'expired',
          cause: error,
        });
      });

      it('fails with the loss itself when it passes that on', async () => {
        let signal: AbortSignal | undefined;
        const running = scene.withLock('k', (lock) => {
          ({ signal } = lock);
          scene.clock.block(TTL);
          lock.assertHeld();
        });
        await expect(running).rejects.toSatisfy((error) => error === signal!.reason);
        await expect(running).rejects.not.toHaveProperty('cause');
      });

      it('fails with the loss when it ends because its signal fired', async () => {
        const running = follow(
          scene.withLock(
            'k',
            ({ signal }) =>
              new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason as Error));
              }),
            { maxHold: 100 },
          ),
        );
        await scene.clock.advance(100);
        expect(running.error).toMatchObject({ code: 'LOCK_LOST', reason: 'maxHold' });
        expect(scene.driver.inspect('k')).toBeNull();
      });

      it('fails with the loss though it released by itself afterwards', async () => {
        const running = scene.withLock('k', async (lock) => {
          scene.clock.block(TTL);
          expect(lock.held).toBe(false);
          expect(await lock.release()).toBe(false);
          return 'done';
        });
        await expect(running).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      });

      it('has not lost anything when it had released before that', async () => {
        const result = scene.withLock('k', async (lock) => {
          await lock.release();
          scene.clock.block(TTL);
          return 'done';
        });
        expect(await result).toBe('done');
      });
    });

    it('does not run when the lock was lost before it could start', async () => {
      const work = vi.fn<() => void>();
      const lock = await scene.acquire('k');
      scene.clock.block(LIFE);
      await expect(scene.engine.run(lock, work)).rejects.toMatchObject({ reason: 'expired' });
      expect(work).not.toHaveBeenCalled();
      await scene.clock.settle();
      expect(scene.driver.count('release')).toBe(1);
    });

    it('does not run when the lock was not to be had', async () => {
      const work = vi.fn<() => void>();
      scene.usurp('k');
      await expect(scene.withLock('k', work, { wait: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
      scene.driver.manner.acquire = 'reject';
      await expect(scene.withLock('l', work, { wait: 0 })).rejects.toMatchObject({
        code: 'LOCK_DRIVER',
      });
      expect(work).not.toHaveBeenCalled();
    });
  },
);
