import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import {
  acquireOperation,
  inspectOperation,
  releaseOperation,
  renewOperation,
} from '../../../../lib/drivers/redis/operations.js';
import { scriptsFor } from '../../../../lib/drivers/redis/scripts.js';
import { FakeRunner } from './fake-runner.js';

const settings = {
  scripts: scriptsFor({ retention: 60_000, publish: 'PUBLISH', knowsFlags: true }),
  durable: new FakeRunner(),
  quick: new FakeRunner(),
  retention: 60_000,
  isListening: (key: string): boolean => key === 'heard-here',
};

describe('to acquire', () => {
  const operation = acquireOperation(settings);
  const request = { key: 'k', owner: 'o', ttl: 1000 };
  const answer = (...reply: unknown[]): unknown => operation.answers(reply, [request])[0];

  it('is a script that replicas have to confirm, for few keys at a time', () => {
    expect(operation.script).toBe(settings.scripts.acquire);
    expect(operation.runner).toBe(settings.durable);
    expect(operation.limit).toBe(32);
  });

  it('gives the ttl, one token, no mark and the expiry of the record unless told otherwise, then the owners', () => {
    const others = [request, { ...request, owner: 'p' }];
    expect(operation.args(others)).toEqual(['1000000', '1', '0', '61000', 'o', 'p']);
  });

  it('gives the tokens that are asked for, and for how long the lock is wanted', () => {
    expect(operation.args([{ ...request, tokens: 1024, wantFor: 250 }])).toEqual([
      '1000000',
      '1024',
      '250000',
      '61000',
      'o',
    ]);
  });

  it('rounds fractions up: to microseconds, and the expiry to milliseconds', () => {
    expect(operation.args([{ ...request, ttl: 10.00025, wantFor: 0.0001 }])).toEqual([
      '10001',
      '1',
      '1',
      '60011',
      'o',
    ]);
  });

  it('shares a call only between requests with the same ttl, tokens and wish', () => {
    const { fits } = operation;
    expect(fits(request, { ...request, key: 'l', owner: 'p' })).toBe(true);
    expect(fits(request, { ...request, ttl: 1001 })).toBe(false);
    expect(fits(request, { ...request, tokens: 2 })).toBe(false);
    expect(fits(request, { ...request, wantFor: 1 })).toBe(false);
  });

  it('understands a grant: the last token and how many', () => {
    expect(answer(1_795_004_133_760_712, 1024)).toEqual({
      firstToken: 1_795_004_133_759_689,
      tokens: 1024,
    });
    expect(answer(7, 1)).toEqual({ firstToken: 7, tokens: 1 });
    expect(answer(1, 1)).toEqual({ firstToken: 1, tokens: 1 });
  });

  it('understands a denial: the time that is left and the owner, if there is one', () => {
    expect(answer(-1500, 'other')).toEqual({ retryAfter: 1500, owner: 'other' });
    expect(answer(-1, '')).toEqual({ retryAfter: 1 });
  });

  it('understands numbers as strings, and owners as buffers', () => {
    expect(answer('1795004133760712', '2')).toEqual({
      firstToken: 1_795_004_133_760_711,
      tokens: 2,
    });
    expect(answer('-1500', Buffer.from('öwner'))).toEqual({ retryAfter: 1500, owner: 'öwner' });
    expect(answer(Buffer.from('-3'), Buffer.alloc(0))).toEqual({ retryAfter: 3 });
  });

  it('understands what is wrong with a key, and says what to do about it', () => {
    const error = answer(0, 'WRONGTYPE Operation against a key') as LockDriverError;
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error.message).toContain('WRONGTYPE Operation against a key');
    expect(error.message).toContain('`prefix`');
  });

  it('gives each key its own answer', () => {
    const requests = [request, request, request];
    expect(operation.answers([9, 1, 0, 'ERR', -5, 'p'], requests)).toEqual([
      { firstToken: 9, tokens: 1 },
      expect.any(LockDriverError),
      { retryAfter: 5, owner: 'p' },
    ]);
  });

  it('never takes for a grant or a denial what was not answered', () => {
    const [first, second] = operation.answers([9, 1], [request, request]);
    expect(first).toEqual({ firstToken: 9, tokens: 1 });
    expect(second === undefined || second instanceof Error).toBe(true);
  });
});

describe('to renew', () => {
  const operation = renewOperation(settings);
  const request = { key: 'k', owner: 'o', ttl: 1000 };
  const withTokens = { ...request, bumpToken: 8 };

  it('is a script that replicas have to confirm, for many keys at a time', () => {
    expect(operation.script).toBe(settings.scripts.renew);
    expect(operation.runner).toBe(settings.durable);
    expect(operation.limit).toBe(250);
  });

  it('gives the ttl, never to shorten and no tokens unless told otherwise, then the owners', () => {
    const requests = [request, { ...request, owner: 'p' }];
    expect(operation.args(requests)).toEqual(['1000000', '0', '0', 'o', 'p']);
    expect(operation.args([{ ...request, ttl: 0.0015, shorten: true, bumpToken: 8 }])).toEqual([
      '2',
      '1',
      '8',
      'o',
    ]);
    expect(operation.args([{ ...request, shorten: false }])[1]).toBe('0');
  });

  it('shares a call only between requests with the same ttl, leave to shorten and tokens', () => {
    const { fits } = operation;
    expect(fits(request, { ...request, key: 'l', owner: 'p' })).toBe(true);
    expect(fits(request, { ...request, ttl: 1001 })).toBe(false);
    expect(fits(request, { ...request, shorten: true })).toBe(false);
    expect(fits(request, { ...request, bumpToken: 1 })).toBe(false);
  });

  it('understands the numbers of those that are lost, as strings too', () => {
    const requests = [request, request, request];
    const [renewed, lost] = [{ renewed: true }, { renewed: false }];
    expect(operation.answers([], requests)).toEqual([renewed, renewed, renewed]);
    expect(operation.answers([2], requests)).toEqual([renewed, lost, renewed]);
    expect(operation.answers(['1', '3'], requests)).toEqual([lost, renewed, lost]);
  });

  it('understands the tokens that were asked for, as strings too', () => {
    expect(
      operation.answers([100, 8, 0, 0, '50', '1'], [withTokens, withTokens, withTokens]),
    ).toEqual([
      { renewed: true, firstToken: 93, tokens: 8 },
      { renewed: false },
      { renewed: true, firstToken: 50, tokens: 1 },
    ]);
  });

  it('understands the tokens of one alone', () => {
    expect(operation.answers([100, 8], [withTokens])).toEqual([
      { renewed: true, firstToken: 93, tokens: 8 },
    ]);
  });

  it('never takes for a renewal what was not answered, where there is one answer each', () => {
    const [first, second] = operation.answers([100, 8], [withTokens, withTokens]);
    expect(first).toEqual({ renewed: true, firstToken: 93, tokens: 8 });
    expect(second === undefined || second instanceof Error).toBe(true);
  });
});

describe('to release', () => {
  const operation = releaseOperation(settings);
  const request = { key: 'k', owner: 'o' };

  it('is a script that waits for no replica, for few keys at a time', () => {
    expect(operation.script).toBe(settings.scripts.release);
    expect(operation.runner).toBe(settings.quick);
    expect(operation.limit).toBe(32);
  });

  it('gives for how long to keep the keys, in whole microseconds, then the owners', () => {
    expect(operation.args([request, { ...request, owner: 'p' }])).toEqual(['0', 'o', 'p']);
    expect(operation.args([{ ...request, retainFor: 1.5004 }])).toEqual(['1501', 'o']);
  });

  it('shares a call only between requests that keep their keys equally long', () => {
    expect(operation.fits(request, { key: 'l', owner: 'p' })).toBe(true);
    expect(operation.fits(request, { ...request, retainFor: 1 })).toBe(false);
  });

  it('understands whose it was, for how long others want it and how many, numbers as strings too', () => {
    expect(
      operation.answers(
        [-1, 0, 0, 0, 25, 3, '-1', '0', '0', '0', '25', '3'],
        Array.from({ length: 6 }, () => request),
      ),
    ).toEqual([
      { released: false },
      { released: true },
      { released: true, wantedFor: 25, wantedBy: 3 },
      { released: false },
      { released: true },
      { released: true, wantedFor: 25, wantedBy: 3 },
    ]);
  });

  it('does not count this process among those who were told', () => {
    expect(operation.answers([25, 3], [{ key: 'heard-here', owner: 'o' }])).toEqual([
      { released: true, wantedFor: 25, wantedBy: 2 },
    ]);
  });

  it('never counts fewer than none: this process may not be heard of yet', () => {
    expect(operation.answers([25, 0], [{ key: 'heard-here', owner: 'o' }])).toEqual([
      { released: true, wantedFor: 25, wantedBy: 0 },
    ]);
  });

  it('gives no answer for a key that was not answered for', () => {
    expect(operation.answers([0, 0], [request, request])).toHaveLength(1);
  });
});

describe('to inspect', () => {
  const operation = inspectOperation(settings);

  it('is a script without arguments that waits for no replica, for many keys at a time', () => {
    expect(operation.script).toBe(settings.scripts.inspect);
    expect(operation.runner).toBe(settings.quick);
    expect(operation.limit).toBe(250);
    expect(operation.args([{ key: 'k' }])).toEqual([]);
    expect(operation.fits({ key: 'k' }, { key: 'l' })).toBe(true);
  });

  it('understands what is taken and what is free, numbers as strings and owners as buffers', () => {
    const reply = [
      1500,
      1_795_004_133_760_712,
      'o',
      0,
      0,
      '',
      '7',
      '8',
      Buffer.from('p'),
      '0',
      0,
      '',
    ];
    const keys = ['a', 'b', 'c', 'd'].map((key) => ({ key }));
    expect(operation.answers(reply, keys)).toEqual([
      { key: 'a', owner: 'o', fencingToken: '1795004133760712', remaining: 1500 },
      null,
      { key: 'c', owner: 'p', fencingToken: '8', remaining: 7 },
      null,
    ]);
  });

  it('understands a key that is kept taken by nobody', () => {
    expect(operation.answers([1, 6, ''], [{ key: 'a' }])).toEqual([
      { key: 'a', owner: '', fencingToken: '6', remaining: 1 },
    ]);
  });

  it('never takes for free what was not answered', () => {
    const [first, second] = operation.answers([5, 6, 'o'], [{ key: 'a' }, { key: 'b' }]);
    expect(first).toMatchObject({ key: 'a' });
    expect(second === undefined || second instanceof Error).toBe(true);
  });
});
