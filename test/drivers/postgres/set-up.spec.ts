import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, describe, expect, it } from 'vitest';
import {
  PostgresLockDriver,
  type PostgresLockDriverOptions,
  schema,
} from '../../../lib/drivers/postgres/index.js';
import { TypeOrmLockDriver } from '../../../lib/drivers/typeorm/index.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const database = usePostgres();
const pool = usePool(database.url);
const driver = useDrivers(() => ({ pool }));

const newTable = (): string => `locks_${randomUUID().slice(0, 8)}`;
const LEASE = { key: 'set-up', owner: 'a:1#1', ttl: 60_000 };

const roles: string[] = [];
afterAll(async () => {
  for (const role of roles) {
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

/** A role that may do nothing yet. */
async function newRole(): Promise<{ readonly role: string; readonly url: string }> {
  const role = `role_${randomUUID().slice(0, 8)}`;
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  roles.push(role);
  const url = new URL(database.url);
  url.username = role;
  url.password = 'secret';
  return { role, url: url.href };
}

describe('the options', () => {
  const refused: [string, unknown, RegExp][] = [
    ['nothing', undefined, /`options` is undefined/],
    ['neither a pool nor a connection string', {}, /needs either `pool`.* or `connectionString`/],
    ['both', { pool, connectionString: 'postgres://host/db' }, /needs either/],
    ['a client', new Client(), /`pool` is .*Client; it must be a Pool of the package pg/],
    ['something else for a pool', { pool: {} }, /`pool` is a plain object/],
    ['an empty connection string', { connectionString: '' }, /`connectionString` is an empty/],
    ['a typing mistake', { pool, tabel: 'x' }, /Unknown option `tabel`; did you mean `table`\?/],
    ['a table that breaks out', { pool, table: 'x"; DROP TABLE y; --' }, /`table` is .*letters/],
    ['a table with a digit first', { pool, table: '1x' }, /`table` is "1x"/],
    ['a table whose gate has no name', { pool, table: 'x'.repeat(59) }, /at most 58.*fencing gate/],
    ['a schema of 64 characters', { pool, schema: 'x'.repeat(64) }, /`schema` .*at most 63/],
    ['an empty schema', { pool, schema: '' }, /`schema` is ""/],
    ['a retention that is too short', { pool, retention: '9s' }, /`retention` .*at least 10 s/],
    ['a pool that is too small', { pool, poolSize: 2 }, /`poolSize` is 2; .*`notify: false`/],
    ['no number', { pool, poolSize: '3' }, /`poolSize` is "3"/],
    ['no flag', { pool, prepare: 'no' }, /`prepare` is "no"; it must be true or false/],
  ];

  it.each(refused)('refuse %s', (_, options, message) => {
    const making = (): unknown => new PostgresLockDriver(options as PostgresLockDriverOptions);
    expect(making).toThrow(message);
    expect(making).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
  });

  it('never show a connection string', () => {
    const secret = ['postgres://me:secret@host/db'] as never;
    expect(() => new PostgresLockDriver({ connectionString: secret })).toThrow(/^(?!.*secret)/);
  });

  it('take a duration as a string, and two connections where there are no notices', () => {
    expect(() => driver({ retention: '10s' })).not.toThrow();
    expect(() => driver({ poolSize: 2, notify: false })).not.toThrow();
    expect(() => driver({ table: 'x'.repeat(58) })).not.toThrow();
  });
});

describe('connect()', () => {
  it('creates schema and table once, from twenty drivers at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const name = { schema: newTable(), table: 'Locks' };
      const drivers = Array.from({ length: 20 }, () => driver(name));
      await Promise.all(drivers.map((each) => each.connect()));
      const grants = await Promise.all(
        drivers.map((each, i) => each.acquire({ ...LEASE, owner: `a:1#${i}` })),
      );
      expect(grants.filter((grant) => 'firstToken' in grant)).toHaveLength(1);
      // Two connections each, and the server has 200.
      await Promise.all(drivers.map((each) => each.close()));
    }
  });

  it('works in a schema that is there already, without the right to create one', async () => {
    const { role, url } = await newRole();
    await database.query(`CREATE SCHEMA ${role}; GRANT USAGE, CREATE ON SCHEMA ${role} TO ${role}`);
    const own = driver({ pool: undefined, connectionString: url, schema: role });
    await own.connect();
    expect(await own.acquire(LEASE)).toHaveProperty('firstToken');
  });

  it('takes a table that was made by the SQL for migrations, and adds nothing to it', async () => {
    const table = newTable();
    await database.query(schema({ table }));
    await database.query(schema({ table }));
    await driver({ table, createTable: false }).connect();
    const [made] = await database.query(
      `SELECT array_agg(DISTINCT reloptions::text) AS made FROM pg_class WHERE relname IN ('${table}', '${table}_gate')`,
    );
    expect(made).toEqual({ made: ['{fillfactor=70}'] });
  });

  it('takes a table that has more columns than it needs', async () => {
    const table = newTable();
    await database.query(schema({ table }));
    await database.query(`ALTER TABLE ${table} ADD note text, ADD made timestamptz DEFAULT now()`);
    await driver({ table }).connect();
    expect(await driver({ table }).acquire(LEASE)).toHaveProperty('firstToken');
  });

  it('says that a table is missing which it may not create', async () => {
    const table = newTable();
    await expect(driver({ table, createTable: false }).connect()).rejects.toThrow(
      `The table "public"."${table}" does not exist: run the SQL that \`schema()\` gives, or set \`createTable: true\``,
    );
    await expect(driver({ schema: table, createTable: false }).connect()).rejects.toThrow(
      `The schema "${table}" does not exist`,
    );
  });

  const shapes: [string, string, RegExp][] = [
    ['of other columns', '(key text COLLATE "C" PRIMARY KEY)', /"owner" is missing; "expires" is/],
    [
      'of other types',
      '(key varchar(9) PRIMARY KEY, owner text COLLATE "C", expires timestamptz, last bigint, n integer, wanted bigint)',
      /"key" is character varying\(9\) and must be text COLLATE "C"; "expires" is timestamp/,
    ],
    [
      'that compares keys in another way',
      '(key text PRIMARY KEY, owner text COLLATE "C", expires bigint, last bigint, n integer, wanted bigint)',
      /"key" is text and must be text COLLATE "C"/,
    ],
    [
      'without a unique key',
      '(key text COLLATE "C", owner text COLLATE "C", expires bigint, last bigint, n integer, wanted bigint)',
      /has no unique index on "key"/,
    ],
    [
      'that wants more',
      '(key text PRIMARY KEY, amount integer NOT NULL)',
      /\(amount\).* not be null/,
    ],
  ];

  it.each(shapes)('refuses a table %s', async (_, columns, message) => {
    const table = newTable();
    await database.query(`CREATE TABLE ${table} ${columns}`);
    const connecting = driver({ table }).connect();
    await expect(connecting).rejects.toThrow(message);
    await expect(connecting).rejects.toHaveProperty('code', 'LOCK_CONFIG');
  });

  it('refuses a view, and a table that a crash would empty', async () => {
    const [view, unlogged] = [newTable(), newTable()];
    await database.query(`CREATE VIEW ${view} AS SELECT 1 AS key`);
    await expect(driver({ table: view }).connect()).rejects.toThrow(/is no table/);
    await database.query(schema({ table: unlogged }));
    await database.query(`ALTER TABLE ${unlogged} SET UNLOGGED`);
    await expect(driver({ table: unlogged }).connect()).rejects.toThrow(/crash.*SET LOGGED/);
  });

  it('says which right is missing', async () => {
    const { role, url } = await newRole();
    const table = newTable();
    await database.query(`REVOKE CREATE ON SCHEMA public FROM public`);
    const connecting = (options: PostgresLockDriverOptions = {}): Promise<readonly string[]> =>
      driver({ pool: undefined, connectionString: url, table, ...options }).connect();

    await expect(connecting()).rejects.toThrow(
      `The role "${role}" may not create the table of the locks: it lacks CREATE ON SCHEMA "public"`,
    );
    await expect(connecting({ schema: table })).rejects.toThrow(/lacks CREATE ON DATABASE/);

    await database.query(schema({ table }));
    await expect(connecting()).rejects.toThrow(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."${table}" TO "${role}"`,
    );
    await database.query(`GRANT SELECT, INSERT, UPDATE ON ${table} TO ${role}`);
    await expect(connecting()).rejects.toThrow(`"${role}" lacks DELETE on "public"."${table}"`);

    await database.query(`GRANT DELETE ON ${table} TO ${role}; CREATE SCHEMA ${table}`);
    await expect(connecting({ schema: table, createTable: false })).rejects.toThrow(
      `GRANT USAGE ON SCHEMA "${table}" TO "${role}"`,
    );
    await expect(connecting()).resolves.toEqual([
      `The fencing gate will not work: The role "${role}" lacks SELECT, INSERT, UPDATE, DELETE on "public"."${table}_gate": ` +
        `GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."${table}_gate" TO "${role}"`,
    ]);
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}_gate TO ${role}`);
    await expect(connecting()).resolves.toEqual([]);
  });

  it('says which right was taken away later', async () => {
    const { role, url } = await newRole();
    const table = newTable();
    await database.query(schema({ table }));
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`);
    const own = driver({ pool: undefined, connectionString: url, table });
    await own.connect();
    await database.query(`REVOKE UPDATE ON ${table} FROM ${role}`);
    await expect(own.acquire(LEASE)).rejects.toThrow(/permission denied.*SELECT, INSERT, UPDATE/);
    await expect(own.acquire(LEASE)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
  });

  it('refuses a database in whose encoding keys are not what they are', async () => {
    const name = newTable();
    const latin = new URL(database.url);
    latin.pathname = `/${name}`;
    await database.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const own = driver({ pool: undefined, connectionString: latin.href });
    await expect(own.connect()).rejects.toThrow(/encoding LATIN1.*must be UTF8/);
    await own.close();
    await database.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  it('tells why the server cannot be reached', async () => {
    const own = driver({ pool: undefined, connectionString: 'postgres://localhost:1/x' });
    await expect(own.connect()).rejects.toThrow(/ECONNREFUSED/);
    await expect(own.acquire(LEASE)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
  });
});

describe('a connection string', () => {
  it('keeps what it says, except for what locks need to be otherwise', async () => {
    const url = new URL(database.url);
    url.searchParams.set('application_name', 'mine');
    url.searchParams.set(
      'options',
      '-c lock_timeout=7 -c work_mem=128kB -c synchronous_commit=off',
    );
    url.searchParams.set('statement_timeout', '7');
    const own = driver({ pool: undefined, connectionString: url.href, table: newTable() });
    await expect(own.connect()).resolves.toEqual([]);
  });
});

const create = (options: unknown): unknown => new TypeOrmLockDriver(options as DataSource);

describe('a DataSource', () => {
  it('must be one, of PostgreSQL', () => {
    expect(() => create(undefined)).toThrow(/`dataSource` is undefined; it must be a DataSource/);
    expect(() => create({ dataSource: pool })).toThrow(/`dataSource` is .*Pool/);
    expect(() => create({ dataSource: null })).toThrow(/`dataSource` is null/);
    const other = { isInitialized: true, options: { type: 'mysql' }, driver: {} };
    expect(() => create(other)).toThrow(/is of type mysql; .* needs one of type postgres/);
    expect(() => create({ dataSource: other, retention: 1 })).toThrow(/of type mysql/);
  });

  it('must be initialised when the driver connects, and not before', async () => {
    const dataSource = new DataSource({ type: 'postgres', url: database.url });
    const own = new TypeOrmLockDriver({ dataSource, table: newTable() });
    await expect(own.connect()).rejects.toThrow(
      /not initialised: await dataSource\.initialize\(\)/,
    );
    await expect(own.connect()).rejects.toHaveProperty('code', 'LOCK_CONFIG');
    await dataSource.initialize();
    await own.connect();
    expect(await own.acquire(LEASE)).toHaveProperty('firstToken');
    await dataSource.destroy();
    expect(await own.release(LEASE)).toEqual({ released: true });
    await own.close();
  });

  it('gives its options to the driver, and unknown ones are refused', async () => {
    const dataSource = new DataSource({ type: 'postgres', url: database.url });
    expect(() => new TypeOrmLockDriver({ dataSource, tabel: 'x' } as never)).toThrow(/`table`\?/);
  });

  it('with replicas is used for writing', async () => {
    const dataSource = new DataSource({
      type: 'postgres',
      replication: { master: { url: database.url }, slaves: [{ url: database.url }] },
    });
    await dataSource.initialize();
    const own = new TypeOrmLockDriver({ dataSource, table: newTable() });
    await own.connect();
    expect(await own.acquire(LEASE)).toHaveProperty('firstToken');
    await own.close();
    await dataSource.destroy();
  });
});
