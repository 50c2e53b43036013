import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Interleaving } from './interleaving.js';

// By hand: FUZZ_FROM=7 FUZZ_SEEDS=1 runs one again.
const FROM = Number(process.env['FUZZ_FROM'] ?? 1);
const SEEDS = Number(process.env['FUZZ_SEEDS'] ?? 300);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('requests in any order, answered in any other, well or badly', () => {
  it(
    'are each sent and answered once, with their own answer',
    { timeout: 60_000 + SEEDS * 100 },
    async () => {
      const violations: string[] = [];
      for (let seed = FROM; seed < FROM + SEEDS && violations.length < 20; seed++) {
        const interleaving = new Interleaving(seed);
        await interleaving.run(150);
        violations.push(...interleaving.violations.map((violation) => `${seed}: ${violation}`));
      }
      expect(violations).toEqual([]);
    },
  );
});
