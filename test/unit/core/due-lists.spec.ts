import { beforeEach, describe, expect, it } from 'vitest';
import type { Timer } from '../../../lib/core/clock.js';
import { cancel, Due, DueLists, type DueRole } from '../../../lib/core/due-lists.js';
import { FakeClock } from '../../support/fake-clock.js';

class Item extends Due {
  constructor(readonly name: string) {
    super();
  }
}

/** A clock whose timers, as Node's, cannot wait longer than 2^31 - 1 ms. */
class ClampedClock extends FakeClock {
  override setTimeout(callback: () => void, ms: number): Timer {
    return super.setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
  }
}

let clock: FakeClock;
let start: number;
let lists: DueLists;
let handled: string[];

beforeEach(() => {
  use(new FakeClock());
});

function use(next: FakeClock): void {
  clock = next;
  start = clock.now();
  lists = new DueLists(clock, () => 0.5);
  handled = [];
}

function note({ name }: Item, now: number): void {
  handled.push(`${name} ${now - start}`);
}

function schedule(role: DueRole<Item>, name: string, after: number, span = after): Item {
  const item = new Item(name);
  role.schedule(item, clock.now() + after, span);
  return item;
}

describe('what falls due', () => {
  let role: DueRole<Item>;

  beforeEach(() => {
    role = lists.role(note);
  });

  it('is handled when it is due, in order, whatever list it is on', async () => {
    schedule(role, 'c', 300);
    schedule(role, 'a', 100);
    schedule(role, 'b', 200, 300);
    await clock.advance(1000);
    expect(handled).toEqual(['a 100', 'b 200', 'c 300']);
  });

  it('is handled in order on one list, in whatever order it was scheduled', async () => {
    for (const after of [50, 10, 40, 20, 60, 30, 30]) {
      schedule(role, 'x', after, 7);
    }
    await clock.advance(1000);
    expect(handled).toEqual([10, 20, 30, 30, 40, 50, 60].map((after) => `x ${after}`));
  });

  it('is not handled once it was cancelled, and cancelling it again does nothing', async () => {
    const items = ['a', 'b', 'c', 'd'].map((name) => schedule(role, name, 100));
    for (const item of [items[0]!, items[2]!, items[3]!, items[3]!]) {
      cancel(item);
    }
    await clock.advance(1000);
    expect(handled).toEqual(['b 100']);
    cancel(items[1]!);
    cancel(new Item('never scheduled'));
  });

  it('is handled once, at the last time it was scheduled for', async () => {
    const item = schedule(role, 'a', 100);
    role.schedule(item, start + 500, 400);
    role.schedule(item, start + 50, 100);
    await clock.advance(1000);
    expect(handled).toEqual(['a 50']);
  });

  it('may move from one role to another', async () => {
    const other = lists.role((item: Item, now) => note(new Item(`other ${item.name}`), now));
    const item = schedule(role, 'a', 100);
    other.schedule(item, start + 200, 100);
    await clock.advance(1000);
    expect(handled).toEqual(['other a 200']);
  });

  it('may be scheduled anew while it is handled', async () => {
    const again: DueRole<Item> = lists.role((item, now) => {
      note(item, now);
      if (handled.length < 4) {
        again.schedule(item, now + 100, 100);
      }
    });
    schedule(again, 'a', 100);
    await clock.advance(1000);
    expect(handled).toEqual(['a 100', 'a 200', 'a 300', 'a 400']);
  });

  it('may cancel what is due at the same time', async () => {
    const victim = new Item('victim');
    const killer = lists.role((item: Item, now) => {
      note(item, now);
      cancel(victim);
    });
    schedule(killer, 'killer', 100);
    killer.schedule(victim, start + 100, 100);
    await clock.advance(1000);
    expect(handled).toEqual(['killer 100']);
  });

  it('is handled at once when its time has passed already', async () => {
    schedule(role, 'late', -500, 100);
    await clock.advance(1);
    expect(handled).toEqual(['late 1']);
  });

  it('needs one timer, and none when nothing is left', async () => {
    for (let i = 1; i <= 100; i++) {
      schedule(role, 'x', i * 10);
      expect(clock.timers).toBe(1);
    }
    await clock.advance(999);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    expect(handled).toHaveLength(100);
    expect(clock.timers).toBe(0);
  });

  it('is not late by the time that others took before it', async () => {
    const slow = lists.role<Item>(() => clock.block(100));
    schedule(slow, 'slow', 1000);
    schedule(role, 'next', 1150);
    await clock.advance(2000);
    expect(handled).toEqual(['next 1150']);
  });

  it('is handled though another handler threw, and then in time', async () => {
    use(new FakeClock());
    const broken = lists.role<Item>(() => {
      throw new Error('broken handler');
    });
    role = lists.role(note);
    schedule(broken, 'broken', 100);
    schedule(role, 'same time', 100);
    schedule(role, 'later', 200);
    await expect(clock.advance(150)).rejects.toThrow('broken handler');
    await clock.advance(150);
    expect(handled).toEqual(['same time 101', 'later 200']);
  });

  it('is handled no more after a stop', async () => {
    schedule(role, 'a', 100);
    lists.stop();
    schedule(role, 'b', 100);
    await clock.advance(1000);
    expect(handled).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it('is handled in its time though no timer can wait for so long', async () => {
    use(new ClampedClock());
    role = lists.role(note);
    const days = 86_400_000;
    schedule(role, 'far', 60 * days);
    schedule(role, 'near', 1000);
    await clock.advance(59 * days);
    expect(handled).toEqual(['near 1000']);
    await clock.advance(days);
    expect(handled).toEqual(['near 1000', `far ${60 * days}`]);
  });

  it('is seen to be due after a suspension at the next tick', async () => {
    schedule(role, 'a', 10_000);
    schedule(role, 'tick', 100);
    clock.suspended = 60_000;
    await clock.advance(100);
    expect(handled).toHaveLength(2);
  });
});

describe('the timer', () => {
  it('keeps the process alive while somebody waits, and only then', () => {
    const role = lists.role(note);
    schedule(role, 'a', 1000);
    expect(clock.refTimers).toBe(0);
    lists.keepAlive();
    lists.keepAlive();
    expect(clock.refTimers).toBe(1);
    lists.letGo();
    expect(clock.refTimers).toBe(1);
    lists.letGo();
    expect(clock.refTimers).toBe(0);
  });

  it('does so too when it is armed anew', async () => {
    const role = lists.role(note);
    schedule(role, 'a', 1000);
    lists.keepAlive();
    schedule(role, 'b', 500);
    expect(clock.refTimers).toBe(1);
    await clock.advance(500);
    expect(clock.refTimers).toBe(1);
    lists.letGo();
    expect([clock.timers, clock.refTimers]).toEqual([1, 0]);
  });
});

describe('a role', () => {
  it('with slack takes things together that are due within that part of their span', async () => {
    const role = lists.role(note, { slack: 0.1 });
    schedule(role, 'a', 1000, 1000);
    schedule(role, 'b', 1099, 1000);
    schedule(role, 'c', 1101, 1000);
    await clock.advance(2000);
    expect(handled).toEqual(['a 1000', 'b 1000', 'c 1101']);
  });

  it('with jitter takes all of a list earlier by the same part of their span', async () => {
    const role = lists.role(note, { jitter: 0.2 });
    schedule(role, 'a', 1000, 1000);
    schedule(role, 'b', 1500, 1000);
    schedule(role, 'c', 2000, 2000);
    await clock.advance(3000);
    expect(handled).toEqual(['a 900', 'b 1400', 'c 1800']);
  });

  it('is told when a sweep is over, once for all that was in it', async () => {
    const role = lists.role(note);
    lists.afterSweep(() => handled.push('over'));
    schedule(role, 'a', 100, 1);
    schedule(role, 'b', 100, 2);
    schedule(role, 'c', 200, 1);
    await clock.advance(1000);
    expect(handled).toEqual(['a 100', 'b 100', 'over', 'c 200', 'over']);
  });
});
