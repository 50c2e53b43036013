import { beforeEach, describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import type { Admission } from '../../../lib/interfaces/lock-driver.interface.js';
import { MemoryScene, SECOND, START_TOKEN } from './memory-scene.js';

const RETENTION = 100 * SECOND;
const MINUTE = 60 * SECOND;
const us = (ms: number): number => ms * 1000;

let scene: MemoryScene;

beforeEach(() => {
  scene = new MemoryScene();
});

const admit = (token: number, resource = 'r'): Admission =>
  scene.driver.admitToken({ resource, token, retention: RETENTION });

describe('memory: the fencing gate', () => {
  it('admits tokens up to a minute ahead of the clock, and not one more', () => {
    expect(admit(START_TOKEN + us(MINUTE) + 1)).toEqual({ admitted: false, rule: 'ahead' });
    expect(admit(START_TOKEN + us(MINUTE))).toEqual({ admitted: true });
  });

  it('admits tokens that are as old as its memory, and not one more', () => {
    expect(admit(START_TOKEN - us(RETENTION) - 1)).toEqual({ admitted: false, rule: 'forgotten' });
    expect(admit(START_TOKEN - us(RETENTION))).toEqual({ admitted: true });
  });

  it('remembers for the retention and a minute after the last admission', () => {
    const newest = START_TOKEN + us(MINUTE);
    admit(newest);
    scene.passMs(RETENTION);
    admit(newest);
    scene.passMs(RETENTION + MINUTE);
    scene.pass(-1);
    expect(admit(newest - 1)).toEqual({ admitted: false, rule: 'older', newest });
    scene.pass(1);
    expect(admit(newest - 1)).toEqual({ admitted: false, rule: 'forgotten' });
  });

  it('remembers no longer for a token that is refused', () => {
    admit(START_TOKEN);
    scene.passMs(RETENTION + MINUTE - 1);
    expect(admit(START_TOKEN - 1)).toMatchObject({ rule: 'older' });
    scene.passMs(1);
    expect(admit(START_TOKEN - 1)).toMatchObject({ rule: 'forgotten' });
  });

  it('is bounded over a hundred thousand resources', () => {
    let largest = 0;
    for (let count = 0; count < 100_000; count++) {
      admit(START_TOKEN + scene.time, `r:${count}`);
      scene.passMs(SECOND);
      largest = Math.max(largest, scene.driver.resources);
    }
    // What it remembers at a time is 160 resources here.
    expect(largest).toBeGreaterThanOrEqual(160);
    expect(largest).toBeLessThan(400);
  });

  it('takes part in no transaction, and says so', () => {
    const request = { resource: 'r', token: START_TOKEN, retention: RETENTION };
    expect(() => scene.driver.admitToken(request, {})).toThrow(LockConfigError);
    expect(() => scene.driver.admitToken(request, null)).toThrow(
      /`memory` knows no transactions.*without a transaction/,
    );
  });
});
