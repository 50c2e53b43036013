import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CannotListenError } from '../../../../lib/drivers/redis/redis-port.js';
import { ReleaseChannels } from '../../../../lib/drivers/redis/release-channels.js';
import { FakeSubscriber } from './fake-subscriber.js';
import { microtasks } from './microtasks.js';

const LOOK = 5000;

let subscribers: FakeSubscriber[];
let channels: ReleaseChannels;
const warn = vi.spyOn(process, 'emitWarning');

beforeEach(() => {
  vi.useFakeTimers();
  warn.mockReset().mockImplementation(() => undefined);
  subscribers = [];
  channels = new ReleaseChannels('app:lock:', (events) => {
    const subscriber = new FakeSubscriber(events);
    subscribers.push(subscriber);
    return subscriber;
  });
});

afterEach(() => {
  channels.close();
  vi.useRealTimers();
});

const listener = (): (() => void) & { calls: number } => {
  const told = Object.assign(() => void told.calls++, { calls: 0 });
  return told;
};
const last = (): FakeSubscriber => subscribers.at(-1)!;

/** Lets time pass, and all that follows from it. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('the connection for notices', () => {
  it('is opened with the first listener, and serves them all', () => {
    expect(subscribers).toHaveLength(0);
    channels.listen('a', listener());
    channels.listen('b', listener());
    expect(subscribers).toHaveLength(1);
    expect(last().asked).toEqual(['app:lock:a', 'app:lock:b']);
  });

  it('has one channel for each key, however many listen', () => {
    channels.listen('a', listener());
    channels.listen('a', listener());
    expect(last().asked).toEqual(['app:lock:a']);
  });

  it('is closed with the last channel, and opened again for the next listener', async () => {
    channels.listen('a', listener())();
    await pass(2 * LOOK);
    expect(last().left).toEqual(['app:lock:a']);
    expect(last().closed).toBe(1);
    expect(vi.getTimerCount()).toBe(0);

    const told = listener();
    channels.listen('a', told);
    expect(subscribers).toHaveLength(2);
    last().live('app:lock:a');
    await microtasks();
    expect(told.calls).toBe(1);
  });

  it('does not keep a process alive by its timers', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    channels.listen('a', listener());
    channels.listen('b', listener())();
    last().events.ended();
    await pass(3 * LOOK);
    const results = timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    expect(results.length).toBeGreaterThan(2);
    expect(results).not.toContain(true);
    timers.mockRestore();
  });
});

describe('a listener', () => {
  it('is told as soon as its channel is live, and not before', async () => {
    const told = listener();
    channels.listen('a', told);
    await pass(100);
    expect(told.calls).toBe(0);
    last().live('app:lock:a');
    await microtasks();
    expect(told.calls).toBe(1);
  });

  it('is told of messages for its key, and of no others', () => {
    const [a, b] = [listener(), listener()];
    channels.listen('a', a);
    channels.listen('b', b);
    last().events.message('app:lock:a');
    last().events.message('app:lock:a');
    last().events.message('app:lock:c');
    last().events.message('a');
    expect([a.calls, b.calls]).toEqual([2, 0]);
  });

  it('is told when the connection is back, whatever its key', () => {
    const [a, b, left] = [listener(), listener(), listener()];
    channels.listen('a', a);
    channels.listen('b', b);
    channels.listen('b', left)();
    last().events.restored();
    expect([a.calls, b.calls, left.calls]).toEqual([1, 1, 0]);
  });

  it('is not told any more when it has left, and may leave twice', () => {
    const [stays, leaves] = [listener(), listener()];
    channels.listen('a', stays);
    const leave = channels.listen('a', leaves);
    leave();
    leave();
    last().events.message('app:lock:a');
    expect([stays.calls, leaves.calls]).toEqual([1, 0]);
  });

  it('that leaves twice does not take the channel from another', async () => {
    const stays = listener();
    channels.listen('a', stays);
    const leave = channels.listen('a', listener());
    leave();
    leave();
    await pass(5 * LOOK);
    expect(last().left).toEqual([]);
    expect(last().closed).toBe(0);
  });
});

describe('a channel that nobody listens to', () => {
  it('is kept from one look to the next, then left', async () => {
    channels.listen('stays', listener());
    channels.listen('a', listener())();
    await pass(LOOK);
    expect(last().left).toEqual([]);
    await pass(LOOK - 1);
    expect(last().left).toEqual([]);
    await pass(1);
    expect(last().left).toEqual(['app:lock:a']);
    expect(last().closed).toBe(0);
  });

  it('is kept for who comes back in time, without asking the server again', async () => {
    channels.listen('a', listener())();
    await pass(LOOK);
    const leave = channels.listen('a', listener());
    await pass(LOOK);
    leave();
    await pass(LOOK);
    expect(last().left).toEqual([]);
    expect(last().asked).toEqual(['app:lock:a']);
    await pass(LOOK);
    expect(last().left).toEqual(['app:lock:a']);
  });

  it('is kept for who comes and goes between two looks', async () => {
    channels.listen('a', listener())();
    for (let look = 0; look < 5; look++) {
      await pass(LOOK - 1);
      channels.listen('a', listener())();
      await pass(1);
    }
    expect(subscribers).toHaveLength(1);
    expect(last().left).toEqual([]);
  });

  it('is subscribed to anew by who comes after it was left', async () => {
    channels.listen('stays', listener());
    channels.listen('a', listener())();
    await pass(2 * LOOK);
    const told = listener();
    channels.listen('a', told);
    last().live('app:lock:a');
    await microtasks();
    expect(last().asked).toEqual(['app:lock:stays', 'app:lock:a', 'app:lock:a']);
    expect(told.calls).toBe(1);
  });

  it('may be one that cannot be left: nobody minds', async () => {
    channels.listen('stays', listener());
    channels.listen('a', listener())();
    last().unsubscribeFails = true;
    await pass(2 * LOOK);
    expect(last().left).toEqual(['app:lock:a']);
  });

  it('does not stay, over 10,000 keys', async () => {
    const stay = channels.listen('stays', listener());
    for (let key = 0; key < 10_000; key++) {
      channels.listen(`key ${key}`, listener())();
    }
    await pass(2 * LOOK);
    expect(last().asked).toHaveLength(10_001);
    expect(last().left).toHaveLength(10_000);
    stay();
    await pass(2 * LOOK);
    expect(last().left).toHaveLength(10_001);
    expect(last().closed).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('releases of a key', () => {
  it('are heard of here from the first listener until the channel is left', async () => {
    expect(channels.isListening('a')).toBe(false);
    channels.listen('a', listener())();
    expect([channels.isListening('a'), channels.isListening('b')]).toEqual([true, false]);
    await pass(2 * LOOK);
    expect(channels.isListening('a')).toBe(false);
  });

  it('are not heard of where that was refused, or when all is closed', async () => {
    channels.listen('a', listener());
    channels.listen('b', listener());
    last().refuse('app:lock:a', new Error('NOPERM'));
    await microtasks();
    expect([channels.isListening('a'), channels.isListening('b')]).toEqual([false, true]);
    channels.close();
    expect(channels.isListening('b')).toBe(false);
  });
});

describe('notices that are refused', () => {
  const NOPERM = new Error("NOPERM this user has no permissions to access the 'lock:a' channel");

  it.each([NOPERM, new CannotListenError('this client cannot listen')])(
    'are warned of once, with the reason: %s',
    async (error) => {
      channels.listen('a', listener());
      channels.listen('b', listener());
      last().refuse('app:lock:a', error);
      last().refuse('app:lock:b', error);
      await microtasks();
      expect(warn).toHaveBeenCalledTimes(1);
      expect(warn.mock.calls[0]![0]).toContain(error.message);
    },
  );

  it('are not hoped for, for half a minute', async () => {
    expect(channels.work).toBe(true);
    channels.listen('a', listener());
    last().refuse('app:lock:a', NOPERM);
    await microtasks();
    expect(channels.work).toBe(false);
    await pass(29_999);
    expect(channels.work).toBe(false);
    await pass(1);
    expect(channels.work).toBe(true);
  });

  it('are asked for again by the next listener, not by themselves', async () => {
    channels.listen('a', listener());
    last().refuse('app:lock:a', NOPERM);
    await pass(60_000);
    expect(last().asked).toEqual(['app:lock:a']);
    const told = listener();
    channels.listen('a', told);
    expect(last().asked).toEqual(['app:lock:a', 'app:lock:a']);
    last().live('app:lock:a');
    await microtasks();
    expect(told.calls).toBe(1);
  });

  it('leave nothing open when the last listener has left', async () => {
    const leave = channels.listen('a', listener());
    last().refuse('app:lock:a', NOPERM);
    await microtasks();
    leave();
    await pass(2 * LOOK);
    expect(last().closed).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a connection that is lost', () => {
  it('and does not come back is replaced after a second, with all its channels', async () => {
    const told = listener();
    channels.listen('a', told);
    channels.listen('b', listener());
    last().live('app:lock:a');
    await microtasks();
    last().events.ended();
    await pass(999);
    expect(subscribers).toHaveLength(1);
    await pass(1);
    expect(subscribers).toHaveLength(2);
    expect(last().asked).toEqual(['app:lock:a', 'app:lock:b']);
    last().live('app:lock:a');
    await microtasks();
    expect(told.calls).toBe(2);
    expect(warn).not.toHaveBeenCalled();
  });

  it('is replaced again and again', async () => {
    channels.listen('a', listener());
    for (let count = 2; count < 6; count++) {
      last().events.ended();
      await pass(1000);
      expect(subscribers).toHaveLength(count);
    }
  });

  it('is replaced at once by a new listener, and the others join it after a second', async () => {
    channels.listen('a', listener());
    last().events.ended();
    channels.listen('b', listener());
    expect(subscribers).toHaveLength(2);
    expect(last().asked).toEqual(['app:lock:b']);
    await pass(1000);
    expect(subscribers).toHaveLength(2);
    expect(last().asked).toContain('app:lock:a');
  });

  it('counts as lost once, and not at all when it has been replaced', async () => {
    channels.listen('a', listener());
    const first = last();
    first.events.ended();
    first.events.ended();
    await pass(1000);
    first.events.ended();
    await pass(10_000);
    expect(subscribers).toHaveLength(2);
  });

  it('before a channel was live is no refusal: it is tried again after a second', async () => {
    const told = listener();
    channels.listen('a', told);
    last().refuse('app:lock:a', new Error('Connection is closed.'));
    await pass(1000);
    expect(last().asked).toEqual(['app:lock:a', 'app:lock:a']);
    last().live('app:lock:a');
    await microtasks();
    expect(told.calls).toBe(1);
    expect(channels.work).toBe(true);
    expect(warn).not.toHaveBeenCalled();
  });

  it('before several channels were live is asked for each of them once more', async () => {
    const keys = ['a', 'b', 'c'];
    keys.forEach((key) => channels.listen(key, listener()));
    keys.forEach((key) => last().refuse(`app:lock:${key}`, new Error('Connection is closed.')));
    await pass(3000);
    expect(last().asked).toHaveLength(6);
  });

  it('is replaced also where one was lost just before the last channel was left', async () => {
    channels.listen('a', listener())();
    await pass(2 * LOOK - 500);
    last().events.ended();
    await pass(500);
    expect(vi.getTimerCount()).toBe(0);
    channels.listen('b', listener());
    last().events.ended();
    await pass(1000);
    expect(subscribers).toHaveLength(3);
    expect(last().asked).toEqual(['app:lock:b']);
  });

  it('is not replaced for channels that nobody listens to any more', async () => {
    const leave = channels.listen('a', listener());
    leave();
    await pass(2 * LOOK);
    subscribers[0]!.events.ended();
    await pass(10_000);
    expect(subscribers).toHaveLength(1);
  });
});

describe('channels that are closed', () => {
  it('close the connection once, and leave no timer', async () => {
    channels.listen('a', listener())();
    last().events.ended();
    channels.listen('b', listener());
    channels.close();
    channels.close();
    expect(subscribers.map(({ closed }) => closed)).toEqual([0, 1]);
    expect(vi.getTimerCount()).toBe(0);
    await pass(20_000);
    expect(subscribers).toHaveLength(2);
  });

  it('may never have been used', () => {
    channels.close();
    expect(subscribers).toEqual([]);
  });

  it('open nothing again: not for a listener, nor after a connection that ends', async () => {
    const leave = channels.listen('a', listener());
    channels.close();
    last().events.ended();
    const told = listener();
    channels.listen('b', told)();
    leave();
    await pass(20_000);
    expect(subscribers).toHaveLength(1);
    expect(last().closed).toBe(1);
    expect(told.calls).toBe(0);
  });

  it('take no notice of what was refused thereby', async () => {
    channels.listen('a', listener());
    channels.close();
    last().refuse('app:lock:a', new Error('NOPERM'));
    await pass(20_000);
    expect(warn).not.toHaveBeenCalled();
    expect(subscribers).toHaveLength(1);
  });
});
