import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { follow, LeaseScene, LIFE, TTL } from './lease-scene.js';

describe.each(['sync', 'async'] as const)('a handle, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene(manner);
  });

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('knows its key, its owner and its token', async () => {
    const lock = await scene.acquire('order:7');
    const record = scene.driver.inspect('order:7')!;
    expect(lock.keys).toEqual(['order:7']);
    expect(lock.owner).toBe(record.owner);
    expect(lock.fencingToken).toBe(BigInt(record.fencingToken));
    expect(lock.fencingTokens).toEqual([lock.fencingToken]);
  });

  it('has a token that is a bigint, below 2^53, and grows with every holder', async () => {
    let last = 0n;
    for (let i = 0; i < 20; i++) {
      const lock = await scene.acquire('k');
      expect(typeof lock.fencingToken).toBe('bigint');
      expect(lock.fencingToken).toBeGreaterThan(last);
      expect(lock.fencingToken).toBeLessThan(2n ** 53n);
      last = lock.fencingToken;
      await lock.release();
    }
  });

  it('has tokens that grow through hand-over, release and loss alike', async () => {
    const tokens: bigint[] = [];
    await (await scene.acquire('k')).release();
    await scene.clock.advance(50);
    const work = Array.from({ length: 30 }, (_, i) =>
      scene
        .withLock(
          'k',
          async (lock) => {
            tokens.push(lock.fencingToken);
            await scene.clock.advance(i % 7 === 3 ? 120 : 1);
          },
          { wait: Infinity, handover: i % 5 !== 4, maxHold: i % 11 === 10 ? 0.5 : Infinity },
        )
        .catch(() => undefined),
    );
    await scene.clock.advance(30_000);
    await Promise.all(work);
    expect(tokens).toHaveLength(30);
    expect(tokens).toEqual(tokens.toSorted((a, b) => Number(a - b)));
    expect(new Set(tokens).size).toBe(30);
  });

  it('is held, and says for how long it surely is', async () => {
    const lock = await scene.acquire('k');
    expect(lock.held).toBe(true);
    expect(lock.remaining).toBe(LIFE);
    expect(() => lock.assertHeld()).not.toThrow();
    scene.clock.block(1000);
    expect(lock.remaining).toBe(LIFE - 1000);
  });

  it('is not held any more as soon as its release was asked for', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.release = 'manual';
    void lock.release();
    expect(lock.held).toBe(false);
    expect(lock.remaining).toBe(0);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
  });

  it('says that it was released when it is used after that', async () => {
    const lock = await scene.acquire('k');
    await lock.release();
    expect(() => lock.assertHeld()).toThrow(
      expect.objectContaining({ code: 'LOCK_LOST', reason: 'released', keys: ['k'] }),
    );
    expect(lock.signal.aborted).toBe(false);
    expect(lock.lostError()).toBeNull();
  });

  it('still says why it was lost when it was released after that', async () => {
    const lock = await scene.acquire('k', { maxHold: 100 });
    await scene.clock.advance(100);
    await lock.release();
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ reason: 'maxHold' }));
  });

  it('throws the same error from `assertHeld` as its signal has for a reason', async () => {
    const lock = await scene.acquire('k');
    scene.clock.block(LIFE);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    expect(() => lock.assertHeld()).toThrow(lock.signal.reason as Error);
    expect(lock.lostError()).toBe(lock.signal.reason);
  });

  it('can be logged: as JSON it has its tokens as strings', async () => {
    const lock = await scene.acquire('k');
    const { owner, fencingToken } = lock;
    const json = { keys: ['k'], owner, fencingTokens: [String(fencingToken)] };
    expect(lock.toJSON()).toEqual({ ...json, held: true, remaining: LIFE });
    expect(JSON.parse(JSON.stringify({ lock }))).toEqual({
      lock: { ...json, held: true, remaining: LIFE },
    });
    await lock.release();
    expect(JSON.parse(JSON.stringify(lock))).toEqual({ ...json, held: false, remaining: 0 });
  });

  it('can be logged after it was lost', async () => {
    const lock = await scene.acquire('k');
    scene.clock.block(TTL);
    expect(JSON.parse(JSON.stringify([lock]))).toMatchObject([{ held: false, remaining: 0 }]);
  });

  it('makes its signal when it is asked for, and only then', async () => {
    let made = 0;
    class Counted extends AbortController {
      constructor() {
        super();
        made++;
      }
    }
    vi.stubGlobal('AbortController', Counted);
    const lock = await scene.acquire('k');
    await scene.clock.advance(TTL);
    await (await scene.acquire('other')).release();
    expect(made).toBe(0);
    const { signal } = lock;
    expect(lock.signal).toBe(signal);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(made).toBe(1);
  });

  it('may have its signal listened to by many, and that is no leak', async () => {
    const warned = vi.spyOn(process, 'emitWarning');
    const lock = await scene.acquire('k');
    const told = vi.fn<() => void>();
    for (let i = 0; i < 50; i++) {
      lock.signal.addEventListener('abort', () => told());
    }
    await scene.engine.forceRelease('k');
    expect(told).toHaveBeenCalledTimes(50);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  it('belongs to the turn: a handle of the turn before says nothing of the present one', async () => {
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    const first = await scene.acquire('k');
    const second = follow(scene.acquire('k'));
    await scene.clock.settle();
    await first.release();
    await scene.clock.settle();
    expect(second.value).toMatchObject({ owner: first.owner, held: true });
    expect(first.held).toBe(false);
    expect(first.remaining).toBe(0);
    await expect(first.extend()).rejects.toMatchObject({ reason: 'released' });
    expect(second.value!.fencingToken).not.toBe(first.fencingToken);
    await scene.engine.forceRelease('k');
    expect(first.signal.aborted).toBe(false);
    expect(second.value!.signal.aborted).toBe(true);
  });

  it('under a frame is a handle of its own, of the same lock', async () => {
    const lock = await scene.acquire('k');
    const nested = await scene.engine.runUnder(lock, () => scene.acquire('k'));
    expect(nested).not.toBe(lock);
    expect(nested.fencingToken).toBe(lock.fencingToken);
    expect(nested.owner).toBe(lock.owner);
    expect(nested.signal).toBe(lock.signal);
    await nested.release();
    expect([nested.held, lock.held]).toEqual([false, true]);
    expect(() => nested.assertHeld()).toThrow(expect.objectContaining({ reason: 'released' }));
  });

  it('is lost when it is force-released here', async () => {
    const lock = await scene.acquire('k');
    const { signal } = lock;
    expect(await scene.engine.forceRelease('k')).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' });
    expect(await lock.release()).toBe(false);
  });
});
