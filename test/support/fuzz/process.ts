import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import { LockEngine } from '../../../lib/core/lock-engine.js';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type { MaybePromise } from '../../../lib/interfaces/lock-driver.interface.js';
import { ChaosDriver, type ChaosOptions } from '../chaos-driver.js';
import type { FakeClock } from '../fake-clock.js';
import { ProcessClock } from '../process-clock.js';
import type { Random } from '../random.js';
import { GrantWatch, type Judge, type Party } from './judge.js';
import { OwnerWatch } from './owner-watch.js';
import { drawChaos, drawSettings, type Weather } from './weather.js';

const KEYS = ['k1', 'k2'];

/** What all processes of a run share. */
export interface Surroundings {
  readonly random: Random;
  readonly weather: Weather;
  readonly world: FakeClock;
  readonly backend: MemoryLockDriver;
  readonly judge: Judge;
  /** Waits for work that nobody else waits for. */
  follow(work: Promise<void>): void;
}

/** One process: an engine, its way to the backend, and the work that takes locks in it. */
export class Process implements Party {
  readonly clock: ProcessClock;
  readonly driver: ChaosDriver;
  readonly engine: LockEngine;
  readonly chaos: ChaosOptions;
  stopped = false;
  readonly #owners: OwnerWatch;
  /** Work sleeps by a clock of its own, so that the engine's timers can be counted. */
  readonly #workClock: ProcessClock;
  /** Callers for each key that are under no lock, in the order they came, and the last of them that was served. */
  #callers = 0;
  readonly #served = new Map<string, number>();

  constructor(
    private readonly around: Surroundings,
    readonly name: string,
  ) {
    const { random, world, weather, backend, judge } = around;
    this.clock = new ProcessClock(world);
    this.#workClock = new ProcessClock(world);
    this.chaos = drawChaos(random, weather);
    this.#owners = new OwnerWatch(backend, (what) => judge.violated(what));
    this.driver = new ChaosDriver(backend, world, this.clock, random, this.chaos, this.#owners);
    const events = new GrantWatch((key, token) => judge.granted(this, key, BigInt(token)));
    events.listen((event) => judge.happened(event));
    this.engine = new LockEngine({
      driver: this.driver,
      node: name,
      events,
      clockSkew: 0,
      handoverMaxTime: weather.maxTime,
      parseTtl: Number,
      clock: this.clock,
      random: random.next,
    });
  }

  pause(ms: number): void {
    this.clock.pause(ms);
    this.#workClock.pause(ms);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#workClock.setTimeout(resolve, ms));
  }

  /** Takes a lock and works under it, in one of the ways in which people do. */
  async work(): Promise<void> {
    const { random } = this.around;
    const key = random.chance(0.7) ? KEYS[0]! : KEYS[1]!;
    switch (random.int(0, 4)) {
      case 0:
        return this.#bare(await this.#inLine(key));
      case 1:
        return this.#bare(await this.#several());
      case 2:
        return this.#framed(await this.#inLine(key), (outer) => this.#nested(key, outer));
      case 3:
        return this.#framed(await this.#inLine(key), () => this.#siblings(key));
      default:
        return this.#framed(await this.#inLine(key), () => this.#leaveBehind(key));
    }
  }

  /** Called from under no lock: such callers are served in the order they came. */
  async #inLine(key: string): Promise<EngineHandle> {
    const caller = this.#callers++;
    const lock = await this.#ask(key);
    if (caller < (this.#served.get(key) ?? -1)) {
      this.around.judge.violated(`${this.name} has served ${key} out of turn`);
    }
    this.#served.set(key, caller);
    return lock;
  }

  #ask(key: string): Promise<EngineHandle> {
    return this.#answered((settings) => this.engine.acquire(key, settings));
  }

  #several(): Promise<EngineHandle> {
    const keys = KEYS.filter(() => this.around.random.chance(0.7)).concat('k3');
    return this.#answered((settings) => this.engine.acquireAll(keys, settings));
  }

  async #answered(
    ask: (settings: AcquireSettings) => MaybePromise<EngineHandle>,
  ): Promise<EngineHandle> {
    const { random, weather, judge } = this.around;
    const settings = drawSettings(random, weather);
    const signal = random.chance(0.15) ? this.#abortedAfter(random.int(0, 60)) : undefined;
    const since = this.clock.now();
    try {
      return await ask({ ...settings, signal });
    } finally {
      judge.answered(settings, since);
    }
  }

  #abortedAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#workClock.setTimeout(() => controller.abort(), ms);
    return controller.signal;
  }

  async #bare(lock: EngineHandle): Promise<void> {
    await this.#inside(lock, () => this.#dawdle(lock));
    await lock.release();
    if (lock.held) {
      this.around.judge.violated(`${lock.keys.join()} is held after its release`);
    }
  }

  #framed(lock: EngineHandle, body: (lock: EngineHandle) => Promise<void>): Promise<void> {
    return this.engine.run(lock, () =>
      this.#inside(lock, async () => {
        if (lock.held && this.engine.current() !== lock) {
          this.around.judge.violated('The current lock is not the one that was opened last');
        }
        await body(lock);
      }),
    );
  }

  async #inside(lock: EngineHandle, body: () => Promise<void>): Promise<void> {
    const leave = this.#owners.enter(lock);
    const forget = this.around.judge.holds(this, lock);
    await body().finally(() => {
      leave();
      forget();
    });
  }

  async #nested(key: string, outer: EngineHandle): Promise<void> {
    const inner = await this.#ask(key);
    if (outer.held && inner.fencingToken !== outer.fencingToken) {
      this.around.judge.violated(`${key} was not joined by what runs under it`);
    }
    await this.#framed(inner, () => this.#dawdle());
  }

  async #siblings(key: string): Promise<void> {
    const running = new Set<EngineHandle>();
    const sibling = async (): Promise<void> => {
      await this.sleep(this.around.random.int(0, 5));
      await this.#framed(await this.#ask(key), async (lock) => {
        running.add(lock);
        if ([...running].filter(({ held }) => held).length > 1) {
          this.around.judge.violated(`Siblings on ${key} overlap`);
        }
        await this.#dawdle();
        running.delete(lock);
      });
    };
    const ends = await Promise.allSettled([sibling(), sibling(), sibling()]);
    for (const end of ends) {
      if (end.status === 'rejected') {
        this.around.judge.failed(end.reason);
      }
    }
  }

  /** Starts work that may outlive the lock. */
  async #leaveBehind(key: string): Promise<void> {
    const detached = async (): Promise<void> => {
      await this.sleep(this.around.random.int(0, 80));
      await this.#framed(await this.#ask(key), () => this.#dawdle());
    };
    this.around.follow(detached());
    await this.#dawdle();
  }

  /** Spends time under a lock, and extends it or not. */
  async #dawdle(lock?: EngineHandle): Promise<void> {
    const { random, weather, judge } = this.around;
    for (let steps = random.int(0, 3); steps > 0; steps--) {
      await this.sleep(random.pick([0, 1, 5, random.int(1, 60)]));
      if (lock !== undefined && random.chance(0.2)) {
        const ttl = random.pick([undefined, ...weather.ttls, 50]);
        await lock.extend(ttl).catch((error: unknown) => judge.failed(error));
      }
    }
  }
}
