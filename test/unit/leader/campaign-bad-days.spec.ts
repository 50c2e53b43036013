import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { Owners } from '../../../lib/core/owners.js';
import { KEY, LIFE, TermScene, TTL } from './term-scene.js';

const MINUTE = 60_000;

let scene: TermScene;
let warned: MockInstance;

beforeEach(() => {
  scene = new TermScene();
  warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
});
afterEach(() => vi.restoreAllMocks());

describe('a campaign whose backend is down', () => {
  it.each(['reject', 'throw', 'hang'] as const)(
    'goes on for as long as that takes, without haste, and leads soon after: acquires %s',
    async (manner) => {
      scene.driver.manner.acquire = manner;
      const campaign = await scene.stand();
      await scene.clock.advance(10 * MINUTE);
      expect(campaign.isLeader).toBe(false);
      expect(campaign.isOver).toBe(false);
      expect(scene.driver.count('acquire')).toBeLessThan((10 * MINUTE) / 500);
      expect(warned.mock.calls.length).toBeGreaterThanOrEqual(10);
      expect(warned.mock.calls.length).toBeLessThanOrEqual(21);
      scene.driver.manner.acquire = 'async';
      await scene.clock.advance(TTL);
      expect(campaign.isLeader).toBe(true);
    },
  );

  it('stands again after it has lost its seat by that, and its former terms are released', async () => {
    const campaign = await scene.stand();
    scene.driver.manner.renew = 'hang';
    scene.driver.manner.acquire = 'hang';
    scene.driver.manner.release = 'hang';
    await scene.clock.advance(5 * MINUTE);
    expect(scene.story).toEqual(['elected', 'expired']);
    const other = scene.other();
    const successor = await other.stand();
    expect(successor.isLeader).toBe(true);
    Object.assign(scene.driver.manner, { renew: 'async', acquire: 'async', release: 'async' });
    await scene.clock.advance(MINUTE);
    expect(successor.isLeader).toBe(true);
    expect(other.story).toEqual(['elected']);
    await successor.resign();
    await scene.clock.advance(1000);
    expect(campaign.isLeader).toBe(true);
  });
});

describe('a process that stood still', () => {
  it('does not lead at its first look after that, before any timer', async () => {
    const campaign = await scene.stand();
    const { signal } = campaign;
    scene.clock.block(LIFE);
    expect(campaign.isLeader).toBe(false);
    expect(() => campaign.fencingToken).toThrow('lost');
    expect(signal.aborted).toBe(true);
  });

  it('gives work that begins after that no signal that has yet to abort', async () => {
    const campaign = await scene.stand();
    scene.clock.block(LIFE);
    expect(campaign.signal.aborted).toBe(true);
  });

  it('is not made a leader by a seat that was given to it so long ago', async () => {
    scene.driver.manner.acquire = 'manual';
    const campaign = await scene.stand();
    const command = scene.driver.next('acquire');
    command.apply();
    scene.clock.block(LIFE);
    command.answer();
    await scene.clock.settle();
    expect(campaign.isLeader).toBe(false);
    expect(scene.story).toEqual([]);
  });

  it('does not get a term back by an answer that comes after its end', async () => {
    const campaign = await scene.stand();
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(LIFE - 100);
    const last = scene.driver.commands.splice(0).at(-1)!;
    last.apply();
    scene.driver.manner.acquire = 'hang';
    scene.clock.block(200);
    expect(campaign.isLeader).toBe(false);
    last.answer();
    await scene.clock.settle();
    expect(campaign.isLeader).toBe(false);
    expect(scene.story).toEqual(['elected', 'expired']);
  });
});

describe('to resign', () => {
  it('while a try is under way gives back what comes of it', async () => {
    scene.driver.manner.acquire = 'manual';
    const campaign = await scene.stand();
    const command = scene.driver.next('acquire');
    command.apply();
    await campaign.resign();
    command.answer();
    await scene.clock.settle();
    expect(campaign.isLeader).toBe(false);
    expect(scene.driver.inspect(KEY)).toBeNull();
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.count('acquire')).toBe(1);
    expect(scene.clock.refTimers).toBe(0);
  });

  it('while it waits for another leaves nothing behind', async () => {
    const leader = await scene.other().stand();
    const campaign = await scene.stand();
    await campaign.resign();
    expect(scene.driver.listeners).toBe(0);
    const { length } = scene.driver.calls;
    await leader.resign();
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.calls).toHaveLength(length);
    expect(scene.clock.refTimers).toBe(0);
    expect(scene.story).toEqual([]);
  });

  it('when it is told of its election is possible, and the seat is free after that', async () => {
    const campaign = await scene.stand();
    await campaign.resign();
    scene.changes.length = 0;
    const next = await scene.stand();
    next.changes$.subscribe(({ isLeader }) => void (isLeader && next.resign()));
    await scene.clock.settle();
    await scene.engine.forceRelease(KEY);
    await scene.clock.advance(1000);
    expect(scene.driver.inspect(KEY)).toBeNull();
    expect(next.isOver).toBe(true);
    expect(scene.story.at(-1)).toMatch(/resigned|forced/);
  });

  it('and the loss of the seat at once are one end of one term', async () => {
    const campaign = await scene.stand();
    const resigned = campaign.resign();
    const forced = scene.engine.forceRelease(KEY);
    await Promise.all([resigned, forced, campaign.resign()]);
    await scene.clock.settle();
    expect(scene.story).toEqual(['elected', 'resigned']);
  });

  it('when the backend does not answer takes no longer than a part of a ttl', async () => {
    const campaign = await scene.stand();
    scene.driver.manner.release = 'hang';
    let isDone = false;
    void campaign.resign().then(() => (isDone = true));
    expect(campaign.isLeader).toBe(false);
    await scene.clock.advance(TTL / 6 + 1);
    expect(isDone).toBe(true);
  });

  it('keeps the seat for what runs under the term, for as long as that lock lasts and no longer', async () => {
    const campaign = await scene.stand();
    const leave = campaign.term!.enter();
    let isDone = false;
    void campaign.resign().then(() => (isDone = true));
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.inspect(KEY)).not.toBeNull();
    expect(isDone).toBe(false);
    scene.driver.manner.renew = 'hang';
    await scene.clock.advance(TTL);
    expect(isDone).toBe(true);
    leave();
    await scene.clock.settle();
    expect(scene.story).toEqual(['elected', 'resigned']);
  });
});

describe('when the engine stops', () => {
  it('a leader is one no more, its seat is free, and it does not stand again', async () => {
    const campaign = await scene.stand();
    const stopped = scene.engine.stop();
    await scene.clock.advance(1000);
    await stopped;
    expect(scene.story).toEqual(['elected', 'stopped']);
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/leader of jobs: .*shut down/)]]);
    expect(campaign.isOver).toBe(true);
    expect(scene.driver.inspect(KEY)).toBeNull();
  });

  it('a candidate gives up', async () => {
    await scene.other().stand();
    const campaign = await scene.stand();
    await scene.engine.stop();
    await scene.clock.settle();
    expect(campaign.isOver).toBe(true);
    expect(scene.story).toEqual([]);
  });
});

describe('a key that is also locked by hand in the same process', () => {
  it('is held by the candidate’s own name when it comes to that, and never under the other’s', async () => {
    scene.driver.manner.acquire = 'manual';
    const byHand = scene.acquire(KEY, { ttl: TTL, wait: 500, handover: false });
    byHand.catch(() => undefined);
    await scene.clock.settle();
    const term = { owners: new Owners('candidate'), heartbeat: 1000, tokenPeriod: 2000 };
    const campaign = await scene.stand({ term });
    const command = scene.driver.next('acquire');
    command.apply();
    await scene.clock.advance(501);
    await expect(byHand).rejects.toMatchObject({ code: 'LOCK_DRIVER' });
    scene.driver.manner.acquire = 'async';
    command.answer();
    await scene.clock.advance(1000);
    expect(campaign.isLeader).toBe(true);
    expect(scene.driver.inspect(KEY)?.owner).toMatch(/^candidate#/);
  });
});
