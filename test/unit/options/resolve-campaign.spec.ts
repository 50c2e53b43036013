import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import {
  type CampaignSettings,
  completeCampaign,
  mergeCampaign,
  NOTHING_GIVEN,
} from '../../../lib/options/resolve-campaign.js';

const MODULE = { node: 'pod-1:7', ttl: 30_000, clockSkew: 0 };

const resolve = (options: unknown, defaults = MODULE): CampaignSettings =>
  completeCampaign(mergeCampaign(NOTHING_GIVEN, options), defaults);

describe('the options of a campaign', () => {
  it('are those of the module where nothing is given, with a heartbeat each sixth and a token each third of the ttl', () => {
    expect(resolve({})).toEqual({
      nodeId: 'pod-1:7',
      ttl: 30_000,
      heartbeat: 5000,
      tokenPeriod: 10_000,
      reclaim: false,
    });
  });

  it.each([30, 31, 32, 35, 59, 61, 1000, 1001])('keep their own rules by default: %d ms', (ttl) => {
    const margin = ttl / 100 + 5;
    const { heartbeat, tokenPeriod } = resolve({ ttl });
    expect(ttl).toBeGreaterThanOrEqual(2 * tokenPeriod);
    expect(ttl).toBeGreaterThan(2 * heartbeat + margin);
  });

  it('take what is given, and undefined for not given', () => {
    const given = { nodeId: 'n', ttl: '1m', heartbeat: '10s', tokenPeriod: '20s', reclaim: true };
    const settings = { ...given, ttl: 60_000, heartbeat: 10_000, tokenPeriod: 20_000 };
    expect(resolve(given)).toEqual(settings);
    expect(resolve({ ...given, reclaim: undefined })).toEqual({ ...settings, reclaim: false });
  });

  it.each([
    [{ ttl: '20s', tokenPeriod: '60s', heartbeat: '1s' }],
    [{ ttl: 10_000, tokenPeriod: 5001 }],
  ])('are refused where a leader’s token could not have risen twice in a ttl: %j', (options) => {
    expect(() => resolve(options)).toThrow(LockConfigError);
    expect(() => resolve(options)).toThrow(
      /Option `ttl` is (20|10) s; it must be at least twice `tokenPeriod`, which is (60|5\.001) s/,
    );
  });

  it.each([
    [
      { ttl: '10s', heartbeat: '5s', tokenPeriod: '5s' },
      /10 s; .* twice `heartbeat`, which is 5 s, and a margin of 105 ms/,
    ],
    [{ ttl: '10s', heartbeat: 4948, tokenPeriod: '5s' }, /`heartbeat`, which is 4\.948 s/],
    [{ ttl: '1s', heartbeat: '3s' }, /`ttl` is 1 s; .* `heartbeat`, which is 3 s/],
  ])('are refused where one heartbeat that is missed loses the seat: %j', (options, why) => {
    expect(() => resolve(options)).toThrow(LockConfigError);
    expect(() => resolve(options)).toThrow(why);
  });

  it('are accepted up to these rules', () => {
    expect(resolve({ ttl: '10s', heartbeat: 4947, tokenPeriod: '5s' }).heartbeat).toBe(4947);
  });

  it('leave room for clocks that differ', () => {
    const options = { ttl: '10s', heartbeat: '4s' };
    expect(() => resolve(options, { ...MODULE, clockSkew: 1800 })).not.toThrow();
    expect(() => resolve(options, { ...MODULE, clockSkew: 2000 })).toThrow(/a margin of 2\.105 s/);
  });

  it.each([
    [{ nodeId: '' }, /Option `nodeId`/],
    [{ nodeId: 'a#b' }, /without `#`/],
    [{ ttl: 'soon' }, /Option `ttl` is "soon"/],
    [{ ttl: Infinity }, /Option `ttl`/],
    [{ heartbeat: 0 }, /Option `heartbeat` is 0/],
    [{ heartbeat: Infinity }, /Option `heartbeat`/],
    [{ tokenPeriod: -1 }, /Option `tokenPeriod` is -1/],
    [{ reclaim: 'yes' }, /Option `reclaim` is "yes"/],
    [{ hartbeat: 1 }, /Unknown option `hartbeat`; did you mean `heartbeat`\?/],
    [null, /Option `options`/],
  ])('are refused one by one: %j', (options, why) => {
    expect(() => resolve(options)).toThrow(LockConfigError);
    expect(() => resolve(options)).toThrow(why);
  });
});
