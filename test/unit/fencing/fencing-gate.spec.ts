import { beforeEach, describe, expect, it, vi } from 'vitest';
import { FencingTokenError } from '../../../lib/errors/fencing-token.error.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { StaleFencingTokenError } from '../../../lib/errors/stale-fencing-token.error.js';
import { FencingGate } from '../../../lib/fencing/fencing-gate.js';
import type { Admission, LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

const START = 1_800_000_000_000;
const NOW = START * 1000;
const DAY = 24 * 3_600_000;

let time = 0;
let driver: TestLockDriver;
let gate: FencingGate;

beforeEach(() => {
  time = 0;
  driver = new TestLockDriver({ now: () => START + time });
  gate = new FencingGate(new LockService(driver));
});

/** The error by which the promise rejects. */
const refusal = (promise: Promise<unknown>): Promise<StaleFencingTokenError> =>
  promise.then(
    () => Promise.reject(new Error('It was admitted')),
    (error: StaleFencingTokenError) => error,
  );

/** A gate on a driver that has this beside what every driver has. */
function gateOn(more: Partial<LockDriver>, options = {}): FencingGate {
  const base: LockDriver = {
    name: 'bare',
    acquire: () => ({}),
    renew: () => [],
    release: () => ({ released: false }),
    inspect: () => null,
    list: () => [],
    forceRelease: () => false,
  };
  return new FencingGate(new LockService({ driver: { ...base, ...more }, ...options }));
}

/** A gate whose statement comes to this. */
const answers = (admission: Admission): FencingGate =>
  gateOn({
    admitStatement: ({ resource, token, retention }) => ({
      text: 'ask',
      values: [resource, token, retention],
      admission: () => admission,
    }),
  });

describe('admit', () => {
  it.each([
    ['a bigint', BigInt(NOW)],
    ['a decimal string', String(NOW)],
    ['a number', NOW],
  ])('takes %s', async (_, token) => {
    await expect(gate.admit('orders', token)).resolves.toBeUndefined();
    await expect(gate.admit('orders', NOW)).resolves.toBeUndefined();
    await expect(gate.admit('orders', NOW - 1)).rejects.toThrow(StaleFencingTokenError);
  });

  it.each([
    ['0', '"0"'],
    [0, '0'],
    [0n, '0'],
    [-1n, '-1'],
    ['-1', '"-1"'],
    ['', '""'],
    [' 1', '" 1"'],
    ['1.0', '"1.0"'],
    ['1e3', '"1e3"'],
    ['0x1f', '"0x1f"'],
    ['1, 2', '"1, 2"'],
    ['9'.repeat(60), `"${'9'.repeat(40)}..."`],
    ['9223372036854775808', '"9223372036854775808"'],
    [2n ** 63n, '9223372036854775808'],
    [2 ** 53, '9007199254740992'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'a plain object'],
  ])('rejects %o, which is no token', async (token, shown) => {
    const asking = gate.admit('orders', token as string);
    await expect(asking).rejects.toThrow(FencingTokenError);
    await expect(asking).rejects.toThrow(`${shown} is no fencing token`);
    await expect(asking).rejects.toMatchObject({ code: 'FENCING_TOKEN', statusCode: 400 });
    expect(driver.calls).toEqual([]);
  });

  it('says that a newer holder has been here', async () => {
    await gate.admit('orders', NOW);
    const error = await refusal(gate.admit('orders', NOW - 1));
    expect(error).toMatchObject({
      code: 'STALE_FENCING_TOKEN',
      statusCode: 409,
      keys: ['orders'],
      resource: 'orders',
      token: String(NOW - 1),
      newest: String(NOW),
      rule: 'older',
    });
    expect(error.message).toMatch(/^The fencing token 1799999999999999 is refused for orders/);
    expect(error.message).toMatch(/newest is 1800000000000000.*rule `older`.*start it anew/);
  });

  it.each([2n ** 62n, String(2n ** 62n), 2n ** 63n - 1n, Number.MAX_SAFE_INTEGER])(
    'refuses a forged %s as ahead, and nobody is barred by it',
    async (forged) => {
      const error = await refusal(gate.admit('orders', forged));
      expect(error).toMatchObject({ rule: 'ahead', token: String(forged), newest: undefined });
      expect(error.message).toMatch(/rule `ahead`.*forged/);
      await expect(gate.admit('orders', NOW)).resolves.toBeUndefined();
      await expect(refusal(gate.admit('orders', forged))).resolves.toMatchObject({
        rule: 'ahead',
        newest: String(NOW),
      });
    },
  );

  it('refuses what is older than a week where it remembers nothing', async () => {
    const error = await refusal(gate.admit('orders', NOW - 7 * DAY * 1000 - 1));
    expect(error).toMatchObject({ rule: 'forgotten', newest: undefined });
    expect(error.message).toMatch(/rule `forgotten`.*fencing\.retention/);
    await expect(gate.admit('orders', NOW - 7 * DAY * 1000)).resolves.toBeUndefined();
  });

  it('remembers for as long as the module says', async () => {
    gate = new FencingGate(new LockService({ driver, fencing: { retention: '1h' } }));
    await gate.admit('orders', NOW);
    expect(driver.calls).toMatchObject([{ request: { retention: 3_600_000 } }]);
  });

  it('puts the namespace before the resource, as before keys', async () => {
    gate = new FencingGate(new LockService({ driver, namespace: 'shop' }));
    await gate.admit('orders', NOW);
    expect(driver.calls).toMatchObject([{ request: { resource: 'shop:orders', token: NOW } }]);
    await expect(gate.admit('', NOW)).rejects.toThrow(LockKeyError);
    await expect(refusal(gate.admit('orders', 1))).resolves.toMatchObject({
      resource: 'shop:orders',
    });
  });

  it('can be logged as JSON where it refuses', async () => {
    const error = await refusal(gate.admit('orders', 2n ** 62n));
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ token: String(2n ** 62n) });
  });

  it('tells of a backend that fails by a LockDriverError', async () => {
    const cause = new Error('connection refused');
    driver.failNext(1, { on: 'admitToken', error: cause });
    const asking = gate.admit('orders', NOW);
    await expect(asking).rejects.toThrow(LockDriverError);
    await expect(asking).rejects.toMatchObject({ cause, keys: ['orders'] });
    await expect(asking).rejects.toThrow(
      'test failed to admit a fencing token: connection refused',
    );
  });

  it('leaves errors as they are that are typed already', async () => {
    const error = new LockConfigError('no table');
    driver.failNext(1, { on: 'admitToken', error });
    await expect(gate.admit('orders', NOW)).rejects.toBe(error);
  });

  it('names a driver that has no gate', async () => {
    await expect(gateOn({}).admit('orders', NOW)).rejects.toThrow(LockConfigError);
    await expect(gateOn({}).admit('orders', NOW)).rejects.toThrow('`bare` has no fencing gate');
  });
});

describe('admit in a transaction', () => {
  const transaction = { query: () => undefined };

  it('gives the transaction to the driver', async () => {
    const admitToken = vi.fn<() => Admission>(() => ({ admitted: true }));
    await gateOn({ admitToken }).admit('orders', NOW, transaction);
    expect(admitToken).toHaveBeenCalledWith(expect.objectContaining({ token: NOW }), transaction);
  });

  it('throws what fails in it as it is', async () => {
    const error = Object.assign(new Error('could not serialize access'), { code: '40001' });
    const admitToken = (): Promise<Admission> => Promise.reject(error);
    await expect(gateOn({ admitToken }).admit('orders', NOW, transaction)).rejects.toBe(error);
  });

  it('is refused by a driver that knows none', async () => {
    await expect(gate.admit('orders', NOW, transaction)).rejects.toThrow(LockConfigError);
  });
});

describe('statement', () => {
  it('gives what to run, with the namespace, and lets an admission pass', () => {
    const { text, values, check } = answers({ admitted: true }).statement('orders', NOW);
    expect([text, values]).toEqual(['ask', ['orders', NOW, 7 * DAY]]);
    expect(() => check([])).not.toThrow();
  });

  it('throws for a refusal when it is told what came of it', () => {
    const { check } = answers({ admitted: false, rule: 'older', newest: 9 }).statement('orders', 7);
    expect(() => check([])).toThrow(StaleFencingTokenError);
    expect(() => check([])).toThrow(expect.objectContaining({ token: '7', newest: '9' }));
  });

  it('bounds a forged token, and tells it as it was', () => {
    const forged = answers({ admitted: false, rule: 'ahead' }).statement('orders', 2n ** 62n);
    expect(forged.values[1]).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => forged.check([])).toThrow(
      expect.objectContaining({ rule: 'ahead', token: String(2n ** 62n) }),
    );
  });

  it('is refused by a driver that has none', () => {
    expect(() => gate.statement('orders', NOW)).toThrow(LockConfigError);
    expect(() => gate.statement('orders', NOW)).toThrow('`test` has no statement');
  });
});
