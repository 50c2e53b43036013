import type { AcquireSettings } from '../../lib/core/acquire-settings.js';
import { LockEngine } from '../../lib/core/lock-engine.js';
import { LockEvents } from '../../lib/core/lock-events.js';
import type { EngineHandle } from '../../lib/core/lock-handle.js';
import type { LockDriver } from '../../lib/interfaces/lock-driver.interface.js';
import type { LockEvent } from '../../lib/interfaces/lock-event.interface.js';
import type { LockHandle } from '../../lib/interfaces/lock-handle.interface.js';
import { FakeClock } from './fake-clock.js';

export const DEFAULTS: AcquireSettings = {
  ttl: 30_000,
  wait: 5_000,
  autoExtend: true,
  retry: { min: 10, max: 800, factor: 1.5, jitter: 0.2 },
  reentrant: true,
  minHold: 0,
  maxHold: Infinity,
  maxWaiters: Infinity,
  handover: true,
  signal: undefined,
};

/** An engine on the test's clock, with what it told and what it logged. */
export class TestEngine {
  readonly events: LockEvent[] = [];
  readonly logged: LockEvent[] = [];
  readonly engine: LockEngine;
  readonly defaults: AcquireSettings;

  constructor(
    readonly driver: LockDriver,
    readonly clock: FakeClock,
    {
      node = 'node-1:1',
      clockSkew = 0,
      handoverMaxTime = 100,
      observed = false,
      random = () => 0.5,
      ...defaults
    }: Partial<AcquireSettings> & {
      node?: string;
      clockSkew?: number;
      handoverMaxTime?: number;
      observed?: boolean;
      random?: () => number;
    } = {},
  ) {
    const events = new LockEvents((event) => this.logged.push(event));
    if (observed) {
      events.listen((event) => this.events.push(event));
    }
    this.defaults = { ...DEFAULTS, ...defaults };
    this.engine = new LockEngine({
      driver,
      node,
      events,
      clockSkew,
      handoverMaxTime,
      parseTtl: Number,
      clock,
      random,
    });
  }

  async acquire(key: string, settings: Partial<AcquireSettings> = {}): Promise<EngineHandle> {
    return this.engine.acquire(key, { ...this.defaults, ...settings });
  }

  async acquireAll(
    keys: readonly string[],
    settings: Partial<AcquireSettings> = {},
  ): Promise<EngineHandle> {
    return this.engine.acquireAll(keys, { ...this.defaults, ...settings });
  }

  async withLock<T>(
    key: string,
    work: (lock: LockHandle) => T | Promise<T>,
    settings: Partial<AcquireSettings> = {},
  ): Promise<T> {
    return this.engine.run(await this.acquire(key, settings), work);
  }
}
