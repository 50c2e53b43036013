import { Logger } from '@nestjs/common';
import { LockLostError, LockService } from 'nestjs-distributed-lock';
import { filter, firstValueFrom, merge } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasRedis, useRedis } from '../../support/redis/use-redis.js';
import { type Act, Stage } from '../../support/stage.js';
import { cronPlace } from './places/cron.place.js';
import { socketIoPlace, wsPlace } from './places/gateway.place.js';
import { httpPlace } from './places/http.place.js';
import { KEY, type Kind, type OpenPlace, type Outcome, type Place } from './places/place.js';
import { redisPlace, tcpPlace } from './places/rpc.place.js';
import { servicePlace } from './places/service.place.js';
import { GatedDriver } from './support/gated.driver.js';

const PLACES: Readonly<Record<string, Place>> = {
  'a service': servicePlace,
  Express: httpPlace('Express'),
  Fastify: httpPlace('Fastify'),
  TCP: tcpPlace,
  Redis: redisPlace(useRedis()),
  'a gateway on ws': wsPlace,
  'a gateway on Socket.IO': socketIoPlace,
  cron: cronPlace,
};

const KINDS: Readonly<Record<Kind, string>> = {
  promise: 'a Promise',
  observable: 'an Observable',
  promiseOfObservable: 'a Promise of an Observable',
};

/** A cell that cannot exist: why, and what happens instead. */
interface Impossible {
  readonly why: string;
  readonly begun: number;
  readonly outcome: (place: Place) => Outcome;
}

const isNotRun: Impossible = {
  why: 'nobody subscribes to what a job returns: it is not run',
  begun: 0,
  outcome: (place) => place.value(''),
};
const isRefused: Impossible = {
  why: 'nobody but Nest subscribes to what a promise brings: it is refused',
  begun: 1,
  outcome: (place) => place.lockError(500, 'LOCK_CONFIG'),
};
const IMPOSSIBLE: Readonly<Record<string, Partial<Record<Kind, Impossible>>>> = {
  'a service': { promiseOfObservable: isRefused },
  cron: { observable: isNotRun, promiseOfObservable: isRefused },
};

const cells = Object.entries(PLACES).flatMap(([name, place]) =>
  (Object.keys(KINDS) as Kind[]).map((kind) => ({
    name,
    title: `in ${name} a method that returns ${KINDS[kind]}`,
    place,
    kind,
    impossible: IMPOSSIBLE[name]?.[kind],
  })),
);

let driver: GatedDriver;
let stage: Stage;
let open: OpenPlace | undefined;

beforeEach(() => {
  driver = new GatedDriver();
  stage = new Stage();
  vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
});

afterEach(async () => {
  await open?.close();
  open = undefined;
  vi.restoreAllMocks();
});

async function enter(
  place: Place,
  options: { wait?: number; ttl?: number } = {},
): Promise<OpenPlace> {
  open = await place.open({ stage, options: { driver, ...options } });
  return open;
}

/** Settles when somebody has begun to wait for the lock. */
function waiting({ locks }: OpenPlace): Promise<unknown> {
  const events = merge(...locks.map(({ events$ }) => events$));
  return firstValueFrom(events.pipe(filter(({ type }) => type === 'waiting')));
}

const heldKeys = (): string[] => driver.list().map(({ key }) => key);

const possible = cells.filter((cell) => cell.impossible === undefined);

describe.for(possible.map((cell) => [cell.title, cell] as const))('%s', ([, cell]) => {
  const { name, place, kind } = cell;
  const isGateway = name.startsWith('a gateway');

  beforeEach(({ skip }) => skip(name === 'Redis' && !hasRedis, 'there is no Redis server'));

  it('runs alone, and holds the lock to its end', async () => {
    const there = await enter(place);
    const first = there.call(kind);
    const act = await stage.acts.next();
    act.emit('one');
    const secondWaits = waiting(there);
    const second = there.call(kind);
    await secondWaits;
    expect(stage.running).toBe(1);
    expect(act.lock?.keys).toEqual([KEY]);
    expect(driver.inspect(KEY)?.owner).toBe(act.lock?.owner);
    act.complete();
    const next = await stage.acts.next();
    next.finish('two');
    expect(await first).toEqual(place.value('one'));
    expect(await second).toEqual(place.value('two'));
    expect(stage.mostAtOnce).toBe(1);
    expect(heldKeys()).toEqual([]);
  });

  it('answers when the lock is back, and not before', async () => {
    const there = await enter(place);
    driver.isShut = true;
    const answer = there.call(kind);
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true));
    (await stage.acts.next()).finish('done');
    const gate = await driver.asked.next();
    await there.ping();
    await there.ping();
    // Each value of a stream is sent as it comes; what waits for the lock is its end.
    expect(isAnswered).toBe(isGateway && kind !== 'promise');
    driver.isShut = false;
    gate.resolve();
    expect(await answer).toEqual(place.value('done'));
  });

  it('gives the lock back when it throws, and its caller gets that error', async () => {
    const there = await enter(place);
    const failed = there.call(kind);
    const error = new Error('out of stock');
    (await stage.acts.next()).fail(error);
    expect(await failed).toEqual(place.ownError(error));
    expect(heldKeys()).toEqual([]);
    await worksAgain(there, place, kind);
  });

  it('is not run when the lock is busy for all of `wait`, and its caller gets LOCK_TIMEOUT', async () => {
    const there = await enter(place, { wait: 20 });
    await using other = new LockService(driver);
    const lock = await other.acquire(KEY);
    expect(await there.call(kind)).toEqual(place.lockError(423, 'LOCK_TIMEOUT'));
    expect(stage.begun).toBe(0);
    expect(lock.held).toBe(true);
    await lock.release();
    await worksAgain(there, place, kind);
  });

  it('is not run when the backend is down, and its caller gets LOCK_DRIVER', async () => {
    const there = await enter(place, { wait: 0 });
    driver.failNext(1);
    expect(await there.call(kind)).toEqual(place.lockError(503, 'LOCK_DRIVER'));
    expect(stage.begun).toBe(0);
    await worksAgain(there, place, kind);
  });

  it('hears at once that its lock is lost, and its caller gets LOCK_LOST', async () => {
    const there = await enter(place);
    const order: string[] = [];
    const lost = there.call(kind).finally(() => order.push('answered'));
    const act = await stage.acts.next();
    await act.played;
    void act.left.finally(() => order.push('ended'));
    act.lock?.signal.addEventListener('abort', () => order.push('signal'));
    await there.locks[0]?.forceRelease(KEY);
    expect(act.lock?.signal.reason).toBeInstanceOf(LockLostError);
    if (kind === 'promise') {
      await awaitedToItsEnd(there, act, order);
    }
    expect(await lost).toEqual(place.lockError(500, 'LOCK_LOST'));
    expect(order).toEqual(['signal', 'ended', 'answered']);
    await worksAgain(there, place, kind);
  });
});

/** It may still be writing: a promise cannot be stopped, so its caller waits for it. */
async function awaitedToItsEnd(
  there: OpenPlace,
  act: Act,
  order: readonly string[],
): Promise<void> {
  await there.ping();
  await there.ping();
  expect(order).toEqual(['signal']);
  act.finish('too late');
}

async function worksAgain(there: OpenPlace, place: Place, kind: Kind): Promise<void> {
  const answer = there.call(kind);
  (await stage.acts.next()).finish('well');
  expect(await answer).toEqual(place.value('well'));
}

const impossible = cells.flatMap(({ impossible: instead, ...cell }) =>
  instead === undefined
    ? []
    : [[`${cell.title} cannot exist, because ${instead.why}`, { ...cell, ...instead }] as const],
);

it.for(impossible)('%s', async ([, { place, kind, begun, outcome }]) => {
  const there = await enter(place);
  expect(await there.call(kind)).toEqual(outcome(place));
  expect(stage.begun).toBe(begun);
  expect(heldKeys()).toEqual([]);
});
