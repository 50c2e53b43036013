import { beforeEach, describe, expect, it } from 'vitest';
import type { RenewResult } from '../../../lib/interfaces/lock-driver.interface.js';
import { Owners } from '../../../lib/core/owners.js';
import { HEARTBEAT, KEY, LIFE, TermScene, TOKEN_PERIOD, TTL } from './term-scene.js';

let scene: TermScene;

beforeEach(() => {
  scene = new TermScene();
});

describe('the heartbeat of a term', () => {
  it('comes early by the jitter at most, and raises the token in each period once', async () => {
    await scene.stand();
    await scene.clock.advance(20 * HEARTBEAT);
    const { renewals } = scene;
    renewals.forEach(({ at }, i) => {
      const since = at - (renewals[i - 1]?.at ?? 0);
      expect(since).toBeGreaterThanOrEqual(0.9 * HEARTBEAT);
      expect(since).toBeLessThanOrEqual(HEARTBEAT + 1);
    });
    const bumps = renewals.filter(({ bumps: does }) => does);
    expect(bumps.length).toBeGreaterThanOrEqual((20 * HEARTBEAT) / TOKEN_PERIOD - 1);
    expect(bumps.length).toBeLessThanOrEqual((20 * HEARTBEAT) / (0.9 * TOKEN_PERIOD));
  });

  it.each(['hang', 'reject', 'throw'] as const)(
    'is tried again and again before the deadline, and not after it: renewals %s',
    async (manner) => {
      const campaign = await scene.stand();
      scene.driver.manner.renew = manner;
      scene.driver.manner.acquire = 'hang';
      await scene.clock.advance(LIFE - 1);
      expect(campaign.isLeader).toBe(true);
      expect(scene.renewals.length).toBeGreaterThanOrEqual(4);
      await scene.clock.advance(1);
      expect(campaign.isLeader).toBe(false);
      const { length } = scene.renewals;
      await scene.clock.advance(10 * TTL);
      expect(scene.renewals).toHaveLength(length);
    },
  );

  it('may be so slow that it leaves room for one more try only', async () => {
    const heartbeat = LIFE / 2 - 1;
    const term = { owners: new Owners('pod-1:7'), heartbeat, tokenPeriod: TOKEN_PERIOD };
    const campaign = await scene.stand({ term });
    scene.driver.manner.renew = 'reject';
    await scene.clock.advance(heartbeat + 1);
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(10 * TTL);
    expect(campaign.isLeader).toBe(true);
    expect(scene.story).toEqual(['elected']);
  });
});

describe('a token of a term', () => {
  it('that was given and not heard of is followed by a larger one, here and with the next leader', async () => {
    const campaign = await scene.stand();
    const first = campaign.fencingToken;
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(1.5 * TOKEN_PERIOD);
    const lost = scene.driver.commands.splice(0);
    lost.forEach((command) => {
      command.apply();
      command.fail();
    });
    expect(lost.some(({ request }) => isBump(request))).toBe(true);
    const unheard = scene.lastToken;
    expect(unheard).toBeGreaterThan(first);
    expect(campaign.fencingToken).toBe(first);

    scene.driver.manner.renew = 'async';
    await scene.clock.advance(HEARTBEAT);
    expect(campaign.fencingToken).toBeGreaterThan(unheard);
    const last = campaign.fencingToken;
    await campaign.resign();
    const next = await scene.other().stand();
    expect(next.fencingToken).toBeGreaterThan(last);
  });

  it('does not fall when answers come in another order', async () => {
    const campaign = await scene.stand();
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(3.5 * HEARTBEAT);
    const commands = scene.driver.commands.splice(0);
    commands.forEach((command) => command.apply());
    expect(commands.filter(({ request }) => isBump(request)).length).toBeGreaterThanOrEqual(2);
    const seen: bigint[] = [];
    for (const command of commands.toReversed()) {
      command.answer();
      await scene.clock.settle();
      seen.push(campaign.fencingToken);
    }
    expect(seen.every((token) => token === scene.lastToken)).toBe(true);
  });

  it.each(['lost', 'given back'])(
    'that is answered after the term was %s changes nothing',
    async (how) => {
      const campaign = await scene.stand();
      scene.driver.manner.renew = 'manual';
      await scene.clock.advance(2 * HEARTBEAT);
      const late = scene.driver.commands.splice(0);
      late.forEach((command) => command.apply());
      scene.driver.manner.renew = 'async';
      if (how === 'lost') {
        await scene.engine.forceRelease(KEY);
      } else {
        await campaign.resign();
      }
      const next = how === 'lost' ? campaign : await scene.stand();
      await scene.clock.settle();
      const token = next.fencingToken;
      const renewed: readonly RenewResult[] = [
        { renewed: true, firstToken: Number(token) + 1_000_000, tokens: 1 },
      ];
      late.forEach((command) => command.answer(renewed));
      await scene.clock.settle();
      expect(next.fencingToken).toBe(token);
      expect(next.isLeader).toBe(true);
    },
  );

  it('stays where a driver has none to give, and is asked for again', async () => {
    const campaign = await scene.stand();
    const first = campaign.fencingToken;
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(1.5 * TOKEN_PERIOD);
    const commands = scene.driver.commands.splice(0);
    expect(commands.some(({ request }) => isBump(request))).toBe(true);
    commands.forEach((command) => command.answer([{ renewed: true }]));
    await scene.clock.settle();
    expect(campaign.fencingToken).toBe(first);
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(HEARTBEAT);
    expect(campaign.fencingToken).toBeGreaterThan(first);
  });
});

function isBump(request: unknown): boolean {
  return (request as readonly { bumpToken?: number }[])[0]?.bumpToken !== undefined;
}
