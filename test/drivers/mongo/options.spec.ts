import { MongoClient } from 'mongodb';
import { MongoClient as MongoClient6 } from 'mongodb6';
import mongoose from 'mongoose';
import { describe, expect, it } from 'vitest';
import { MongoLockDriver } from '../../../lib/drivers/mongo/mongo-lock.driver.js';
import { resolveMongoOptions } from '../../../lib/drivers/mongo/mongo-options.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { tableRows } from '../../docs/markdown.js';
import { Scene } from './scene.js';

const client = new MongoClient('mongodb://127.0.0.1:1');
const db = client.db('locks');

/** The part of a cell between backquotes. */
const codeOf = (cell: string | undefined): string => /^`(.*)`$/.exec(cell ?? '')?.[1] ?? '';

/** As somebody would who does not compile. */
function make(options: unknown): MongoLockDriver {
  return new MongoLockDriver(options as never);
}

describe('the options of the MongoDB driver', () => {
  it('are a database, or an object with one', () => {
    expect(make(db).name).toBe('mongo');
    expect(make({ db }).name).toBe('mongo');
    expect(make(new MongoClient6('mongodb://127.0.0.1:1').db()).name).toBe('mongo');
  });

  it.each([
    ['retention', '2h'],
    ['retention', 60_000],
    ['timeout', '20s'],
    ['timeout', 10],
    ['collection', 'app.locks'],
    ['createIndex', false],
    ['changeStream', false],
    ['retention', undefined],
  ])('may have %s: %s', (name, value) => {
    expect(make({ db, [name]: value }).name).toBe('mongo');
  });

  it.each([
    ['a database is missing', {}, /`db` is undefined; it must be a Db/],
    ['a database is undefined', undefined, /`db` is undefined/],
    [
      'Mongoose is not connected yet',
      { db: mongoose.createConnection().db },
      /once it is connected/,
    ],
    ['a client is no database', client, /client\.db\(\)/],
    ['a client is no database there either', { db: client }, /client\.db\(\)/],
    ['a name is no database', 'locks', /`db`/],
    ['an option is unknown', { db, retenton: '1m' }, /did you mean `retention`/],
    ['an option is far off', { db, ttl: '1m' }, /the options are db, collection/],
    ['records would be forgotten too soon', { db, retention: '59s' }, /at least a minute/],
    ['a duration cannot be read', { db, retention: 'a while' }, /at least a minute/],
    ['a time-out is too long', { db, timeout: '30s' }, /between 10 ms and 20 s/],
    ['a time-out is none', { db, timeout: 0 }, /between 10 ms and 20 s/],
    ['a time-out never ends', { db, timeout: Infinity }, /between 10 ms and 20 s/],
    ['a collection has no name', { db, collection: '' }, /`collection` is ""/],
    ['a collection has an odd name', { db, collection: 'a$b' }, /`collection`/],
    ['a collection is the system’s', { db, collection: 'system.users' }, /`collection`/],
    ['a flag is a word', { db, createIndex: 'no' }, /true or false/],
  ])('are refused where %s', (_, options, message) => {
    expect(() => make(options)).toThrow(LockConfigError);
    expect(() => make(options)).toThrow(message);
  });

  it('are told without what is in them, for a client may hold a password', () => {
    const secret = { url: 'mongodb://user:hunter2@host' };
    expect(() => make({ db: secret.url })).toThrow(/^(?!.*hunter2)/);
  });

  it('are all in the docs, with their defaults', () => {
    const rows = tableRows('docs/mongo.md', 'option of `MongoLockDriver`');
    const settings = resolveMongoOptions(db);
    expect(rows.map(([name]) => codeOf(name)).toSorted()).toEqual(Object.keys(settings).toSorted());
    const told = rows
      .filter(([, value]) => codeOf(value) !== '')
      .map(([name, value]) => [codeOf(name), JSON.parse(codeOf(value).replaceAll("'", '"'))]);
    expect(resolveMongoOptions({ db, ...Object.fromEntries(told) })).toEqual(settings);
  });

  it('name the collection', async () => {
    await using scene = await Scene.start();
    const other = await scene.another({ driver: { collection: 'others' } });
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
    expect(await other.inspect('k')).toBeNull();
  });
});
