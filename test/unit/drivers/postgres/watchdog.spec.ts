import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Watchdog } from '../../../../lib/drivers/postgres/watchdog.js';

describe('the watchdog', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('barks when the time is over, once', () => {
    const bark = vi.fn<() => void>();
    new Watchdog().watch(1000, bark);
    vi.advanceTimersByTime(999);
    expect(bark).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10_000);
    expect(bark).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('says nothing once it is called off, and leaves no timer in the end', () => {
    const bark = vi.fn<() => void>();
    const watchdog = new Watchdog();
    watchdog.watch(1000, bark);
    watchdog.callOff();
    vi.advanceTimersByTime(10_000);
    expect(bark).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives what comes later all of its own time, with one timer', () => {
    const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()];
    const watchdog = new Watchdog();
    watchdog.watch(1000, first);
    vi.advanceTimersByTime(900);
    watchdog.callOff();
    watchdog.watch(1000, second);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(999);
    expect(second).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(second).toHaveBeenCalledTimes(1);
    expect(first).not.toHaveBeenCalled();
  });

  it('wakes earlier for what has less time', () => {
    const [patient, impatient] = [vi.fn<() => void>(), vi.fn<() => void>()];
    const watchdog = new Watchdog();
    watchdog.watch(10_000, patient);
    watchdog.callOff();
    watchdog.watch(1000, impatient);
    vi.advanceTimersByTime(1000);
    expect(impatient).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(20_000);
    expect(patient).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});
