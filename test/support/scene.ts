import { describe } from 'vitest';
import type { AcquireSettings } from '../../lib/core/acquire-settings.js';
import type { EngineHandle } from '../../lib/core/lock-handle.js';
import { TestEngine } from './engine.js';
import { FakeClock } from './fake-clock.js';
import { type Outcome, watch } from './outcome.js';
import { type Manner, StubDriver } from './stub-driver.js';

/** What holds for both processes of a {@link Scene}. */
export interface SceneOptions extends Partial<AcquireSettings> {
  readonly manner?: Manner;
  readonly notices?: boolean;
  readonly handoverMaxTime?: number;
}

/** The ways to run the engine that must make no difference to whoever uses it. */
export const SETTINGS = (['sync', 'async'] as const).flatMap((manner) =>
  [true, false].map((handover) => ({ manner, handover })),
);

/** Declares the same tests for drivers that answer at once and later, with hand-over and without. */
export function inEverySetting(title: string, declare: (options: SceneOptions) => void): void {
  describe.each(SETTINGS)(`${title} (driver: $manner, hand-over: $handover)`, (options) => {
    declare(options);
  });
}

/** Two processes on one backend and one clock. */
export class Scene {
  readonly clock = new FakeClock();
  readonly driver: StubDriver;
  readonly otherDriver: StubDriver;
  /** The process that is looked at. */
  readonly here: TestEngine;
  /** The other one. */
  readonly there: TestEngine;

  constructor({ manner = 'sync', notices = true, ...defaults }: SceneOptions = {}) {
    this.driver = new StubDriver(this.clock, manner, { notices });
    const { backend } = this.driver;
    this.otherDriver = new StubDriver(this.clock, manner, { notices, backend });
    this.here = new TestEngine(this.driver, this.clock, { ...defaults, node: 'pod-1:7' });
    this.there = new TestEngine(this.otherDriver, this.clock, { ...defaults, node: 'pod-7:41' });
  }

  /** Makes the backend know the key for a while, so that a next grant comes with a block of tokens. */
  async warmUp(key = 'k'): Promise<void> {
    const lock = await this.there.acquire(key);
    await lock.release();
    await this.clock.advance(1000);
    this.driver.calls = [];
    this.otherDriver.calls = [];
  }

  /** Asks for a lock here and lets everything happen that can happen at once. */
  async ask(
    key: string,
    settings: Partial<AcquireSettings> = {},
    engine = this.here,
  ): Promise<Outcome<EngineHandle>> {
    const outcome = watch(engine.acquire(key, settings));
    await this.clock.settle();
    return outcome;
  }

  /** Whether anybody holds the key, as the backend sees it. */
  isLocked(key = 'k'): boolean {
    return this.driver.inspect(key) !== null;
  }
}
