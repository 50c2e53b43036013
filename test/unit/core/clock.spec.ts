import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ClockSources, SystemClock, systemClock } from '../../../lib/core/clock.js';

const MINUTE = 60_000;

/** The clocks of a machine that can be suspended, and whose wall clock can be set. */
class Machine implements ClockSources {
  uptimeReads = 0;
  #monotonic = 5000;
  #wall = 1_800_000_000_000;
  #uptime = 9_000_000;

  monotonic(): number {
    return this.#monotonic;
  }

  wall(): number {
    return this.#wall;
  }

  uptime(): number {
    this.uptimeReads++;
    return Math.floor(this.#uptime / 10) * 10;
  }

  run(ms: number): void {
    this.#monotonic += ms;
    this.suspend(ms);
  }

  suspend(ms: number): void {
    this.#wall += ms;
    this.#uptime += ms;
  }

  setWallClock(by: number): void {
    this.#wall += by;
  }
}

describe('the time of a process', () => {
  let machine: Machine;
  let clock: SystemClock;
  let start: number;

  beforeEach(() => {
    machine = new Machine();
    clock = new SystemClock(machine);
    start = clock.now();
  });

  function elapsed(): number {
    return clock.now() - start;
  }

  it('goes on as the monotonic clock does', () => {
    machine.run(0.25);
    expect(elapsed()).toBe(0.25);
    machine.run(MINUTE);
    expect(elapsed()).toBe(MINUTE + 0.25);
  });

  it('counts a suspension at the first look after it', () => {
    machine.suspend(MINUTE);
    machine.run(2);
    expect(elapsed()).toBeGreaterThan(MINUTE - 20);
    expect(elapsed()).toBeLessThan(MINUTE + 20);
  });

  it('counts every suspension, once', () => {
    for (let i = 0; i < 5; i++) {
      machine.suspend(MINUTE);
      machine.run(2);
      clock.now();
      machine.run(1000);
      clock.now();
    }
    expect(elapsed()).toBeGreaterThan(5 * (MINUTE + 1002) - 100);
    expect(elapsed()).toBeLessThan(5 * (MINUTE + 1002) + 100);
  });

  it.each([MINUTE, -MINUTE, 365 * 24 * 60 * MINUTE])(
    'does not care when the wall clock is set by %i ms',
    (by) => {
      machine.run(1000);
      clock.now();
      machine.setWallClock(by);
      machine.run(1000);
      expect(elapsed()).toBe(2000);
      machine.run(1000);
      expect(elapsed()).toBe(3000);
    },
  );

  it('counts a suspension though the wall clock is set right after it', () => {
    machine.suspend(MINUTE);
    machine.setWallClock(-2 * MINUTE);
    machine.run(2);
    expect(elapsed()).toBeGreaterThan(MINUTE - 20);
  });

  it('counts a suspension after the wall clock was set', () => {
    machine.setWallClock(-3 * MINUTE);
    machine.run(1000);
    clock.now();
    machine.suspend(MINUTE);
    machine.run(2);
    expect(elapsed()).toBeGreaterThan(MINUTE + 980);
  });

  it('never goes back', () => {
    let last = clock.now();
    for (let i = 0; i < 500; i++) {
      [() => machine.run(i % 7), () => machine.suspend(i), () => machine.setWallClock(250 - i)][
        i % 3
      ]!();
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
  });

  it('does not take a pause between two readings for a suspension', () => {
    for (const source of ['wall', 'uptime'] as const) {
      const read = machine[source].bind(machine);
      vi.spyOn(machine, source).mockImplementationOnce(() => {
        machine.run(200);
        return read();
      });
      machine.setWallClock(MINUTE);
      machine.run(2);
      clock.now();
    }
    machine.run(10);
    expect(elapsed()).toBeLessThan(2 * 202 + 10 + 1);
  });

  it('does not read the costly clock while nothing unusual happens', () => {
    const reads = machine.uptimeReads;
    for (let i = 0; i < 10_000; i++) {
      machine.run(1.5);
      clock.now();
    }
    expect(machine.uptimeReads).toBe(reads);
  });
});

describe('the timers of a process', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('fire when they are due, unless they were cleared', () => {
    const [fired, cleared] = [vi.fn<() => void>(), vi.fn<() => void>()];
    systemClock.setTimeout(fired, 1000);
    systemClock.clearTimeout(systemClock.setTimeout(cleared, 1000));
    vi.advanceTimersByTime(999);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
    expect(cleared).not.toHaveBeenCalled();
  });

  it.each([2 ** 31, 60 * 86_400_000, Number.MAX_SAFE_INTEGER, Infinity])(
    'of %d ms fire after what Node can wait, not at once',
    (ms) => {
      const setTimeout = vi.spyOn(globalThis, 'setTimeout');
      systemClock.clearTimeout(systemClock.setTimeout(() => undefined, ms));
      expect(setTimeout).toHaveBeenCalledWith(expect.any(Function), 2 ** 31 - 1);
      setTimeout.mockRestore();
    },
  );

  it('can keep the process alive or not', () => {
    const timer = systemClock.setTimeout(() => undefined, 1000);
    timer.unref();
    timer.ref();
    systemClock.clearTimeout(timer);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('give way to the event loop', () => {
    const yielded = vi.fn<() => void>();
    systemClock.setImmediate(yielded);
    expect(yielded).not.toHaveBeenCalled();
    vi.runAllTimers();
    expect(yielded).toHaveBeenCalledTimes(1);
  });

  it('go by a user’s fake timers, as `now` does, however long the process has been running', () => {
    vi.spyOn(os, 'uptime').mockReturnValue(os.uptime() + 3600);
    syncBuiltinESMExports();
    const before = systemClock.now();
    for (let i = 1; i <= 100; i++) {
      vi.advanceTimersByTime(1234);
      expect(systemClock.now() - before).toBeCloseTo(i * 1234);
    }
  });
});
