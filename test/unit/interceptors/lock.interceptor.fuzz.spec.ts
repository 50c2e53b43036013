import { Logger } from '@nestjs/common';
import { config } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useVirtualTimers } from '../../support/virtual-timers.js';
import { HandlerFuzz } from './fuzz/handler-fuzz.js';

// By hand: FUZZ_SEEDS=20000 runs more of them, FUZZ_FROM=7 FUZZ_SEEDS=1 runs one again.
const FROM = Number(process.env['FUZZ_FROM'] ?? 1);
const SEEDS = Number(process.env['FUZZ_SEEDS'] ?? 300);

describe('handlers among interceptors of every kind, callers that leave, and locks that are busy, lost or refused', () => {
  const violations: string[] = [];
  let seed = FROM;

  const violated = (what: string): void => void violations.push(`seed ${seed}: ${what}`);
  const unhandled = (reason: unknown): void => violated(`unhandled: ${String(reason)}`);

  let useRealTimers: () => void;

  beforeEach(() => {
    useRealTimers = useVirtualTimers();
    vi.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    config.onUnhandledError = unhandled;
    process.on('unhandledRejection', unhandled);
  });

  afterEach(() => {
    useRealTimers();
    vi.restoreAllMocks();
    config.onUnhandledError = null;
    process.off('unhandledRejection', unhandled);
  });

  it(
    'never run two bodies of one key at once, wait for nobody but others, and leave nothing locked',
    { timeout: 60_000 + SEEDS * 100 },
    async () => {
      for (; seed < FROM + SEEDS && violations.length < 20; seed++) {
        (await new HandlerFuzz(seed).run()).forEach(violated);
      }
      expect(violations).toEqual([]);
    },
  );
});
