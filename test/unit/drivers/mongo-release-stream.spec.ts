import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MongoChangeStream } from '../../../lib/drivers/mongo/mongo-port.js';
import { MongoReleaseStream } from '../../../lib/drivers/mongo/mongo-release-stream.js';
import { Deferred } from '../../support/deferred.js';

const MINUTE = 60_000;

/** A change stream whose answers the test gives. */
class FakeStream implements MongoChangeStream {
  closed = false;
  #next = new Deferred<unknown>();

  tryNext(): Promise<unknown> {
    return this.#next.promise;
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  once(): this {
    return this;
  }

  answer(change: unknown): Promise<void> {
    const { resolve } = this.#next;
    this.#next = new Deferred();
    resolve(change);
    return settle();
  }

  fail(error: unknown): Promise<void> {
    this.#next.reject(error);
    return settle();
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) {
    await Promise.resolve();
  }
}

const streams: FakeStream[] = [];
let releases: MongoReleaseStream;

const last = (): FakeStream => streams.at(-1) as FakeStream;

beforeEach(() => {
  vi.useFakeTimers();
  streams.length = 0;
  releases = new MongoReleaseStream(() => {
    const stream = new FakeStream();
    streams.push(stream);
    return stream;
  });
  releases.open();
});

afterEach(async () => {
  await releases.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a stream of releases', () => {
  it('is opened again after pauses that double while it cannot be', async () => {
    releases.subscribe('k', () => undefined);
    for (const pause of [500, 1000, 2000, 4000]) {
      const { length } = streams;
      await last().fail(new Error('broken'));
      expect(releases.works).toBe(false);
      vi.advanceTimersByTime(pause - 1);
      expect(streams).toHaveLength(length);
      vi.advanceTimersByTime(1);
      expect(streams).toHaveLength(length + 1);
    }
  });

  it('begins with the short pause once it was live', async () => {
    releases.subscribe('k', () => undefined);
    await last().fail(new Error('broken'));
    vi.advanceTimersByTime(500);
    await last().answer(null);
    expect(releases.works).toBe(true);
    await last().fail(new Error('broken again'));
    vi.advanceTimersByTime(500);
    expect(streams).toHaveLength(3);
  });

  it('is tried rarely where there is none, and that is told once', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    releases.subscribe('k', () => undefined);
    for (let round = 1; round <= 3; round++) {
      await last().fail(Object.assign(new Error('not allowed'), { code: 13 }));
      vi.advanceTimersByTime(5 * MINUTE - 1);
      expect(streams).toHaveLength(round);
      vi.advanceTimersByTime(1);
    }
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('stays broken for new listeners until it is live', async () => {
    const heard = vi.fn<() => void>();
    releases.subscribe('k', heard);
    await last().fail(new Error('broken'));
    vi.advanceTimersByTime(500);
    expect(releases.works).toBe(false);
    expect(heard).not.toHaveBeenCalled();
    await last().answer({ documentKey: { _id: 'other' } });
    expect(releases.works).toBe(true);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it('leaves no timer behind when it is closed', async () => {
    releases.subscribe('k', () => undefined);
    await last().fail(new Error('broken'));
    await releases.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(10 * MINUTE);
    expect(streams).toHaveLength(1);
  });

  it('hears nothing of a stream that it has left', async () => {
    const heard = vi.fn<() => void>();
    releases.subscribe('k', heard);
    const left = last();
    await releases.close();
    releases.open();
    releases.subscribe('k', heard);
    await left.fail(new Error('late'));
    expect(releases.works).toBe(true);
    expect(heard).not.toHaveBeenCalled();
    expect(streams).toHaveLength(2);
  });

  it('is broken where it cannot even be made', () => {
    const failing = new MongoReleaseStream(() => {
      throw new Error('no client');
    });
    failing.open();
    failing.subscribe('k', () => undefined);
    expect(failing.works).toBe(false);
  });
});
