import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { LockService } from '../../../lib/lock.service.js';
import { ObservedPool } from '../../support/postgres/observed-pool.js';
import { usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const database = usePostgres({
  synchronous_commit: 'off',
  default_transaction_isolation: 'serializable',
  statement_timeout: '1h',
});
let pool: ObservedPool;
beforeAll(() => {
  pool = new ObservedPool({ connectionString: database.url });
});
afterAll(() => pool.end());
const newDriver = useDrivers(() => ({ pool }));

let driver: PostgresLockDriver;
let count = 0;
beforeEach(async () => {
  driver = newDriver();
  await driver.connect();
  await driver.acquire(lease());
  await driver.release({ key: 'x', owner: 'nobody' });
  pool.names();
});

const lease = (
  key = `key:${count++}`,
  owner = `a:1#${count++}`,
): { key: string; owner: string; ttl: number } => ({ key, owner, ttl: 60_000 });

describe('an operation', () => {
  it('is one statement', async () => {
    const own = lease();
    await driver.acquire(own);
    await driver.acquire({ ...own, owner: 'b:1#1' });
    await driver.renew([own]);
    await driver.inspect(own.key);
    await driver.list({ prefix: own.key });
    await driver.forceRelease(own.key);
    await driver.release(own);
    expect(pool.names()).toEqual([
      'lock-acquire',
      'lock-acquire',
      'lock-renew',
      'lock-inspect',
      'lock-list',
      'lock-force-release',
      'lock-release',
    ]);
  });

  it('shares its statement with those of the same tick', async () => {
    const leases = Array.from({ length: 100 }, () => lease());
    await Promise.all(leases.map((each) => driver.acquire(each)));
    await driver.renew(leases);
    await Promise.all(leases.map((each) => driver.release(each)));
    expect(pool.names()).toEqual(['lock-acquire-many', 'lock-renew', 'lock-release-many']);
  });

  it('waits for those before it in the next statement', async () => {
    const first = driver.acquire(lease());
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, ...Array.from({ length: 50 }, () => driver.acquire(lease()))]);
    expect(pool.names()).toEqual(['lock-acquire', 'lock-acquire-many']);
  });

  it('never shares its statement with another of the same key', async () => {
    const { key } = lease();
    const answers = await Promise.all([1, 2, 3].map(() => driver.acquire(lease(key))));
    expect(answers.map((answer) => 'firstToken' in answer)).toEqual([true, false, false]);
    expect(pool.names()).toHaveLength(3);
  });

  it('writes nothing where a lock is busy as before and marked as wanted for longer', async () => {
    const own = lease();
    const versions = async (): Promise<unknown> =>
      (await database.query('SELECT xmin FROM distributed_lock WHERE key = $1', [own.key]))[0];
    const ask = (wantFor?: number): Promise<unknown> =>
      driver.acquire({ ...own, owner: 'b:1#1', wantFor });
    await driver.acquire(own);
    await ask(50_000);
    const before = await versions();
    expect(await ask()).toMatchObject({ owner: own.owner, retryAfter: expect.any(Number) });
    await ask(10_000);
    expect(await versions()).toEqual(before);
    await ask(90_000);
    expect(await versions()).not.toEqual(before);
  });

  it('does without a name, in a transaction of its own, where sessions are shared', async () => {
    const shared = newDriver({ prepare: false });
    await shared.acquire(lease());
    const [begin, acquire, commit] = pool.sent.splice(0);
    expect(begin?.text).toMatch(/^BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL/);
    expect(acquire).toMatchObject({ name: undefined, text: expect.stringContaining('INSERT') });
    expect(commit?.text).toBe('COMMIT');
  });
});

describe('what is asked for', () => {
  it('never stands in a statement', async () => {
    const own = lease(`it's "odd" $1 ${count++}; --`, `o'wner "$2"`);
    await driver.acquire(own);
    await driver.renew([own]);
    await driver.inspect(own.key);
    await driver.list({ prefix: own.key });
    await driver.release(own);
    await driver.forceRelease(own.key);
    expect(pool.sent.filter(({ text }) => /odd|wner "/.test(text))).toEqual([]);
  });

  it('is checked before others share its statement', async () => {
    const refused = ['a\0b', '\uD800', '', 'x'.repeat(513), 7 as never].map((key) =>
      driver.acquire(lease(key)),
    );
    const fine = driver.acquire(lease());
    const owner = driver.acquire(lease(undefined, 'a\0'));
    for (const promise of [...refused, owner]) {
      await expect(promise).rejects.toHaveProperty('code', 'LOCK_KEY');
    }
    expect(await fine).toHaveProperty('firstToken');
    await expect(driver.renew([lease('a\0b')])).rejects.toHaveProperty('code', 'LOCK_KEY');
    await expect(driver.release(lease('a\0b'))).rejects.toHaveProperty('code', 'LOCK_KEY');
    await expect(driver.inspect('a\0b')).rejects.toHaveProperty('code', 'LOCK_KEY');
    await expect(driver.forceRelease('a\0b')).rejects.toHaveProperty('code', 'LOCK_KEY');
    await expect(driver.list({ prefix: 'a\0b' })).rejects.toHaveProperty('code', 'LOCK_KEY');
  });

  it('is refused where it is no duration, without harm to others', async () => {
    const wrong = driver.acquire({ ...lease(), ttl: Number.NaN });
    const fine = driver.acquire(lease());
    await expect(wrong).rejects.toThrow('NaN is no duration');
    expect(await fine).toHaveProperty('firstToken');
  });
});

const modes = async (): Promise<unknown[]> =>
  (await database.query('SELECT mode FROM commits')).map(({ mode }) => mode);

describe('a commit', () => {
  /** What the transaction that wrote the table last waited for, told by a trigger at its end. */
  beforeAll(async () => {
    const first = newDriver();
    await first.connect();
    await database.query(`
      CREATE TABLE commits (operation text, mode text, isolation text, patience text);
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO commits VALUES (TG_OP, current_setting('synchronous_commit'), current_setting('transaction_isolation'),
          current_setting('statement_timeout') || ' ' || current_setting('lock_timeout'));
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER tell AFTER INSERT OR UPDATE ON distributed_lock
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();`);
  });
  beforeEach(async () => {
    await database.query('TRUNCATE commits');
  });

  it.each([true, false])(
    'waits for the disk, except for that of a release (prepare: %s)',
    async (prepare) => {
      const own = newDriver({ prepare });
      const [one, other] = [lease(), lease()];
      await own.acquire(one);
      await own.acquire(other);
      await own.renew([one]);
      expect(await modes()).toEqual(['on', 'on', 'on']);
      await own.release(one);
      await own.release(other);
      expect(await modes()).toEqual(['on', 'on', 'on', 'off', 'off']);
      await own.acquire({ ...one, owner: 'b:1#1' });
      await own.renew([{ ...one, owner: 'b:1#1' }]);
      expect((await modes()).slice(5)).toEqual(['on', 'on']);
    },
  );

  it.each([true, false])(
    'ends a transaction in READ COMMITTED whose statements have limits (prepare: %s)',
    async (prepare) => {
      const own = newDriver({ prepare });
      const each = lease();
      await own.acquire(each);
      await own.renew([each]);
      await own.release(each);
      const limited = { isolation: 'read committed', patience: '5s 2s' };
      const transactions = await database.query('SELECT isolation, patience FROM commits');
      expect(transactions).toEqual([limited, limited, limited]);
    },
  );

  it.each([true, false])(
    'waits for more than the disk where the database says so (prepare: %s)',
    async (prepare) => {
      await database.query(
        `ALTER DATABASE ${database.name} SET synchronous_commit = 'remote_apply'`,
      );
      const own = newDriver({ prepare });
      await own.acquire(lease());
      await database.query(`ALTER DATABASE ${database.name} SET synchronous_commit = 'off'`);
      expect(await modes()).toEqual(['remote_apply']);
    },
  );
});

describe('the clock of the process', () => {
  afterEach(() => vi.useRealTimers());

  it.each([-5, 5])('changes nothing, even %i hours off', async (hours) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
    const own = lease();
    const [row] = await database.query(
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text AS now`,
    );
    const grant = (await driver.acquire(own)) as { firstToken: number };
    expect(grant.firstToken - Number(row?.['now'])).toBeGreaterThan(0);
    expect(grant.firstToken - Number(row?.['now'])).toBeLessThan(60_000_000);
    expect(await driver.acquire({ ...own, owner: 'b:1#1' })).toMatchObject({ owner: own.owner });
    expect((await driver.inspect(own.key))?.remaining).toBeGreaterThan(30_000);
    expect((await driver.inspect(own.key))?.remaining).toBeLessThanOrEqual(60_000);
    expect(await driver.renew([own])).toEqual([{ renewed: true }]);
    expect(await driver.release({ ...own, retainFor: 60_000 })).toEqual({ released: true });
    expect(await driver.acquire(own)).not.toHaveProperty('firstToken');
  });

  it.each([-5, 5])('does not end a lock when it jumps by %i hours', async (hours) => {
    const service = new LockService({ driver, drainTimeout: 0 });
    const lock = await service.acquire('jump', { ttl: 60_000 });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
    expect(lock.held).toBe(true);
    expect(lock.remaining).toBeGreaterThan(30_000);
    expect(await service.tryAcquire('jump', { reentrant: false })).toBeNull();
    await lock.extend(50_000);
    expect(lock.remaining).toBeLessThanOrEqual(60_000);
    expect(await lock.release()).toBe(true);
    const next = await service.acquire('jump');
    expect(next.fencingToken > lock.fencingToken).toBe(true);
    await next.release();
  });
});
