import { describe, expect, it } from 'vitest';
import { AcquireOperation } from '../../../../lib/drivers/postgres/acquire.operation.js';

const operation = new AcquireOperation('"public"."locks"');
const request = { key: 'key', owner: 'a:1#1', ttl: 1000, tokens: 5 };
const granted = ['key', 'a:1#1', '1000000', '1800000000000000', '5'];
const denied = ['key', 'b:1#1', '1500', '1800000000000000', '5'];

describe('the answers to acquires', () => {
  it('are grants where the owner is the one who asked, and denials otherwise', () => {
    expect(operation.answers([request], [granted], 1)).toEqual([
      { firstToken: 1799999999999996, tokens: 5, isNew: false },
    ]);
    expect(operation.answers([request], [denied], 1)).toEqual([{ owner: 'b:1#1', retryAfter: 2 }]);
  });

  it('tell that a lock had no row before, and then have one token', () => {
    const first = [...granted.slice(0, 4), '-5'];
    expect(operation.answers([request], [first], 1)).toEqual([
      { firstToken: 1800000000000000, tokens: 1, isNew: true },
    ]);
  });

  it('are unknown where a grant came too late to rely on its token', () => {
    expect(operation.answers([request], [granted], 5000)).toHaveProperty('0.firstToken');
    const [late] = operation.answers([request], [granted], 5001);
    expect(late).toMatchObject({ code: 'LOCK_DRIVER', keys: ['key'] });
    expect(operation.answers([request], [denied], 5001)).toHaveProperty('0.owner', 'b:1#1');
  });

  it('are unknown where there is no row for a key', () => {
    expect(operation.answers([request], [], 1)).toHaveProperty('0.code', 'LOCK_DRIVER');
  });
});
