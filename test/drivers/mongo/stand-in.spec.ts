import { Double, Int32, Long } from 'bson';
import * as fc from 'fast-check';
import { aggregate } from 'mingo';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { matches, project, update } from '../../support/mongo/documents.js';
import { evaluate } from '../../support/mongo/expressions.js';
import { MongoStandIn } from '../../support/mongo/stand-in.js';
import { compare, ServerError } from '../../support/mongo/values.js';

const now = new Date(Date.UTC(2026, 0, 1));
const valueOf = (expression: unknown, document = {}): unknown =>
  evaluate(expression, { document, now });

describe('the expressions of the stand-in', () => {
  it.each([
    ['a missing field is less than any value', { $lte: ['$missing', '$$NOW'] }, true],
    ['a missing field is less than null', { $lte: ['$missing', null] }, true],
    ['null is less than any value', { $lte: [null, new Int32(-1)] }, true],
    ['numbers of different types are equal', { $eq: [new Int32(5), Long.fromNumber(5)] }, true],
    ['a string is no number', { $eq: ['5', new Int32(5)] }, false],
    [
      'the maximum passes over what is missing',
      { $max: ['$missing', null, new Int32(1)] },
      new Int32(1),
    ],
    ['the maximum of nothing is null', { $max: ['$missing', null] }, null],
    ['$ifNull replaces what is missing', { $ifNull: ['$missing', 'x'] }, 'x'],
    ['two integers add up to one', { $add: [new Int32(1), new Int32(2)] }, new Int32(3)],
    ['integers grow', { $add: [new Int32(2 ** 31 - 1), new Int32(1)] }, Long.fromNumber(2 ** 31)],
    ['a long stays one', { $multiply: [Long.fromNumber(2), new Int32(3)] }, Long.fromNumber(6)],
    ['a double prevails', { $add: [new Double(0.5), new Int32(1)] }, new Double(1.5)],
    [
      'a quotient is a double',
      { $divide: [Long.fromNumber(6), Long.fromNumber(3)] },
      new Double(2),
    ],
    [
      'the difference of dates is a long',
      { $subtract: ['$$NOW', new Date(now.getTime() - 5)] },
      Long.fromNumber(5),
    ],
    [
      'a date and a number are a date',
      { $add: ['$$NOW', Long.fromNumber(5)] },
      new Date(now.getTime() + 5),
    ],
    ['the sum with null is null', { $add: ['$$NOW', null] }, null],
    ['a date is milliseconds', { $toLong: '$$NOW' }, Long.fromNumber(now.getTime())],
    ['milliseconds are a date', { $toDate: new Double(5.9) }, new Date(5)],
    ['a literal is not looked into', { $literal: '$$NOW' }, '$$NOW'],
    ['null is not true', { $cond: [null, 1, 2] }, 2],
  ])('follow the manual: %s', (_, expression, expected) => {
    expect(valueOf(expression)).toEqual(expected);
  });

  it.each([
    { $function: {} },
    { $unheardOf: 1 },
    '$$CLUSTER_TIME',
    { $add: ['a', new Int32(1)] },
    { $add: ['$$NOW', '$$NOW'] },
    { $divide: [new Int32(1), new Int32(0)] },
    { $toDate: new Int32(1) },
    { a: 1 },
  ])('refuse what they do not know, or what the manual says is wrong: %j', (expression) => {
    expect(() => valueOf(expression)).toThrow(ServerError);
  });

  it('order strings by their bytes', () => {
    // UTF-16, which JavaScript compares, has them the other way round.
    const strings = ['\u{1F600}', '\uFF61'];
    expect(strings.toSorted(compare)).toEqual(strings.toSorted().toReversed());
  });

  it('agree with mingo where nothing is missing', () => {
    const number = fc.integer({ min: 1, max: 1000 });
    const operators = ['$add', '$subtract', '$multiply', '$max', '$min', '$eq', '$gt', '$lte'];
    fc.assert(
      fc.property(number, number, fc.constantFrom(...operators), (a, b, operator) => {
        const expression = { [operator]: ['$a', '$b'] };
        const [theirs] = aggregate([{ a, b }], [{ $project: { value: expression } }]);
        const ours = valueOf(expression, { a: new Int32(a), b: new Int32(b) });
        expect(ours instanceof Int32 ? ours.value : ours).toBe(theirs?.['value']);
      }),
    );
  });
});

describe('the updates and filters of the stand-in', () => {
  it('compute all fields of a stage from the document before it', () => {
    const document = { _id: 'k', a: new Int32(1), b: new Int32(2) };
    expect(update(document, [{ $set: { a: '$b', b: '$a' } }], now)).toEqual({
      _id: 'k',
      a: new Int32(2),
      b: new Int32(1),
    });
  });

  it.each([
    [{ $set: { a: '$missing' } }],
    [{ $set: { _id: 'other' } }],
    [{ $project: { a: 1 } }],
    [{ $lookup: {} }],
  ])('refuse a stage that sets nothing, changes the key, or is not known: %j', (stage) => {
    expect(() => update({ _id: 'k' }, [stage], now)).toThrow(ServerError);
  });

  it('compare like with like', () => {
    expect(matches({ a: { $gt: new Date(0) } }, { a: 'string' })).toBe(false);
    expect(matches({ a: { $gte: 'x' } }, {})).toBe(false);
    expect(() => matches({ $where: 'true' }, {})).toThrow(ServerError);
    expect(() => matches({ a: { $regex: 'x' } }, { a: 'x' })).toThrow(ServerError);
    expect(() => matches({ a: null }, {})).toThrow(ServerError);
  });

  it('project what is there', () => {
    const document = { _id: 'k', a: 'x', b: 'y' };
    const one = new Int32(1);
    const scope = { document, now };
    expect(project(document, { a: one, c: one, d: { $toLong: '$$NOW' } }, scope)).toEqual({
      _id: 'k',
      a: 'x',
      d: Long.fromNumber(now.getTime()),
    });
  });
});

async function withClient(
  replicaSet: string | undefined,
  test: (client: MongoClient) => Promise<void>,
): Promise<void> {
  await using server = await MongoStandIn.start(replicaSet === undefined ? {} : { replicaSet });
  const client = new MongoClient(server.url);
  try {
    await test(client);
  } finally {
    await client.close();
  }
}

describe('the stand-in as a server', () => {
  it('refuses transactions', async () => {
    await withClient('rs', async (client) => {
      const session = client.startSession();
      session.startTransaction();
      const inserting = client.db().collection('c').insertOne({ a: 1 }, { session });
      await expect(inserting).rejects.toHaveProperty('code', 263);
      await session.abortTransaction().catch(() => undefined);
      await session.endSession();
    });
  });

  it('refuses commands and arguments that it does not know', async () => {
    await withClient('rs', async (client) => {
      const db = client.db();
      await expect(db.command({ mapReduce: 'c' })).rejects.toHaveProperty('code', 59);
      await expect(db.command({ ping: 1, pong: 1 })).rejects.toHaveProperty('code', 40415);
      await expect(db.collection('c').distinct('a')).rejects.toHaveProperty('code', 59);
    });
  });

  it('refuses change streams and numbered writes where there is no replica set', async () => {
    await withClient(undefined, async (client) => {
      const db = client.db();
      const stream = db.collection('c').watch();
      await expect(stream.tryNext()).rejects.toHaveProperty('code', 40573);
      const numbered = { ping: 1, txnNumber: 1n };
      await expect(db.command(numbered)).rejects.toHaveProperty('code', 20);
    });
  });

  it('answers a second insert of a key like the server', async () => {
    await withClient('rs', async (client) => {
      const collection = client.db().collection<{ _id: string }>('c');
      await collection.insertOne({ _id: 'k' });
      await expect(collection.insertOne({ _id: 'k' })).rejects.toMatchObject({
        code: 11000,
        keyPattern: { _id: 1 },
      });
    });
  });
});
