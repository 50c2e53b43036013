import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryScene, SECOND, START_TOKEN } from './memory-scene.js';

let scene: MemoryScene;

beforeEach(() => {
  scene = new MemoryScene();
});

describe('memory: fencing tokens', () => {
  it('begin with the one token that is now, whatever was asked for', () => {
    expect(scene.acquire('a', { tokens: 1024 })).toEqual({ firstToken: START_TOKEN, tokens: 1 });
  });

  it('come as a block from the time that has passed since the last', () => {
    scene.acquire('a');
    scene.release('a');
    scene.pass(5000);
    expect(scene.acquire('b', { tokens: 1024 })).toEqual({
      firstToken: START_TOKEN + 5000 - 1023,
      tokens: 1024,
    });
  });

  it('are fewer than asked for where less time has passed', () => {
    scene.acquire('a');
    scene.release('a');
    scene.pass(7);
    expect(scene.acquire('b', { tokens: 1024 })).toEqual({
      firstToken: START_TOKEN + 1,
      tokens: 7,
    });
  });

  it('go up by one where no time has passed, and where the clock went back', () => {
    scene.acquire('a');
    scene.release('a');
    expect(scene.acquire('b', { tokens: 1024 })).toEqual({
      firstToken: START_TOKEN + 1,
      tokens: 1,
    });
    scene.release('b');
    scene.pass(-500);
    expect(scene.acquire('c', { tokens: 1024 })).toEqual({
      firstToken: START_TOKEN + 2,
      tokens: 1,
    });
  });

  it('are one where none were asked for', () => {
    scene.acquire('a');
    scene.release('a');
    scene.pass(5000);
    expect(scene.acquire('b')).toEqual({ firstToken: START_TOKEN + 5000, tokens: 1 });
  });

  it('follow on after expiry, a forced release and a retained key', () => {
    scene.acquire('a', { ttl: 1 });
    scene.pass(1000);
    expect(scene.acquire('b', { tokens: 2000 })).toEqual({
      firstToken: START_TOKEN + 1,
      tokens: 1000,
    });
    scene.driver.forceRelease('k');
    scene.pass(1);
    expect(scene.acquire('c', { tokens: 2000 })).toEqual({
      firstToken: START_TOKEN + 1001,
      tokens: 1,
    });
    scene.release('c', { retainFor: 1 });
    scene.pass(1000);
    expect(scene.acquire('d', { tokens: 2000 })).toEqual({
      firstToken: START_TOKEN + 1002,
      tokens: 1000,
    });
  });

  it('are whole numbers although the clock has fractions', () => {
    scene.pass(0.75);
    expect(scene.acquire('a')).toEqual({ firstToken: START_TOKEN, tokens: 1 });
  });

  it('are renewed in the same way where a renewal asks for some', () => {
    scene.acquire('a');
    scene.pass(100);
    expect(scene.renew('a', { bumpToken: 10 })).toEqual({
      renewed: true,
      firstToken: START_TOKEN + 91,
      tokens: 10,
    });
    expect(scene.driver.inspect('k')?.fencingToken).toBe(String(START_TOKEN + 100));
    expect(scene.renew('a', { bumpToken: 10 })).toMatchObject({
      firstToken: START_TOKEN + 101,
      tokens: 1,
    });
    scene.release('a');
    expect(scene.acquire('b')).toEqual({ firstToken: START_TOKEN + 102, tokens: 1 });
  });

  it('stay as they are where a renewal asks for none', () => {
    scene.acquire('a');
    scene.pass(100);
    expect(scene.renew('a')).toEqual({ renewed: true });
    expect(scene.driver.inspect('k')?.fencingToken).toBe(String(START_TOKEN));
  });
});

describe('memory: a request that is sent again by the holder', () => {
  beforeEach(() => {
    scene.acquire('z');
    scene.release('z');
    scene.pass(5000);
    scene.acquire('a', { tokens: 1000 });
    scene.pass(5000);
  });

  it("is granted with the block's last token alone", () => {
    expect(scene.acquire('a', { tokens: 1000 })).toEqual({
      firstToken: START_TOKEN + 5000,
      tokens: 1,
    });
  });

  it('gives the lease its ttl anew, and never less than it had', () => {
    scene.acquire('a', { ttl: 20 * SECOND });
    expect(scene.driver.inspect('k')?.remaining).toBe(20 * SECOND);
    scene.acquire('a', { ttl: SECOND });
    expect(scene.driver.inspect('k')?.remaining).toBe(20 * SECOND);
  });

  it('leaves the mark of those who wait', () => {
    scene.acquire('b', { wantFor: SECOND });
    scene.acquire('a');
    expect(scene.release('a')).toEqual({ released: true, wantedFor: SECOND });
  });

  it('is a new grant once the lease has expired', () => {
    scene.passMs(10 * SECOND);
    expect(scene.acquire('a')).toEqual({
      firstToken: START_TOKEN + 10_000 + 10_000_000,
      tokens: 1,
    });
  });
});
