import { LockEngine } from '../../lib/core/lock-engine.js';
import { LockEvents } from '../../lib/core/lock-events.js';
import type { AcquireSettings } from '../../lib/core/acquire-settings.js';
import type { EngineHandle } from '../../lib/core/lock-handle.js';
import { MemoryLockDriver } from '../../lib/drivers/memory/memory-lock.driver.js';
import { LockError } from '../../lib/errors/lock.error.js';
import type {
  AcquireRequest,
  ReleaseRequest,
  RenewRequest,
} from '../../lib/interfaces/lock-driver.interface.js';
import type { LockEvent } from '../../lib/interfaces/lock-event.interface.js';
import { ChaosDriver, type ChaosOptions, type DriverWatch } from './chaos-driver.js';
import { DEFAULTS } from './engine.js';
import { FakeClock, microtasks } from './fake-clock.js';
import { ProcessClock } from './process-clock.js';
import { Random } from './random.js';

const KEYS = ['k1', 'k2'];
const PROCESSES = 3;
const WORKERS = 5;
const ROUNDS = 3;
const LONGEST_TTL = 1000;

/** What the whole of a run has in common. */
interface Weather {
  /** Nothing goes wrong: then no lock is lost and the backend is blamed for nothing. */
  readonly calm: boolean;
  readonly ttls: readonly number[];
  readonly handover: 'on' | 'off' | 'mixed';
  readonly maxTime: number;
  readonly minHold: number;
  /** The part of the locks that are not renewed. */
  readonly unrenewed: number;
}

function drawWeather(random: Random): Weather {
  const calm = random.chance(0.3);
  return {
    calm,
    ttls: random.pick(calm ? [[500], [500, LONGEST_TTL]] : [[60], [200], [60, 200, LONGEST_TTL]]),
    handover: random.pick(['on', 'on', 'off', 'mixed'] as const),
    maxTime: random.pick([5, 20, 100]),
    minHold: random.pick([0, 0, 40]),
    unrenewed: calm ? 0 : random.pick([0, 0.3]),
  };
}

/** Sees grants at the very moment they are made; listeners are told a little later. */
class GrantWatch extends LockEvents {
  constructor(private readonly granted: (key: string, token: number) => void) {
    super();
  }

  override acquired(...event: Parameters<LockEvents['acquired']>): void {
    this.granted(event[0].key, event[1]);
    super.acquired(...event);
  }
}

/** One process: an engine, its way to the backend, and the work that takes locks in it. */
class Process implements DriverWatch {
  readonly clock: ProcessClock;
  readonly driver: ChaosDriver;
  readonly engine: LockEngine;
  readonly chaos: ChaosOptions;
  /** How many bodies run under an owner's lease, by key and owner. */
  readonly #running = new Map<string, number>();
  /** Owners of which a release was sent, by key. */
  readonly #givenBack = new Set<string>();
  /** Work sleeps by a clock of its own, so that the engine's timers can be counted. */
  readonly #workClock: ProcessClock;
  stopped = false;

  constructor(
    readonly run: FuzzRun,
    readonly name: string,
  ) {
    const { random, world, weather, backend } = run;
    this.clock = new ProcessClock(world);
    this.#workClock = new ProcessClock(world);
    const sync = random.chance(0.2);
    this.chaos = {
      sync,
      latency: random.pick(weather.calm ? [0.5, 5] : [1, 5, 20]),
      faults: weather.calm ? 0 : random.pick([0, 0.05, 0.2]),
      notices: sync || random.chance(0.7),
      lostNotices: random.pick([0, 0.3]),
    };
    this.driver = new ChaosDriver(backend, world, this.clock, random, this.chaos, this);
    const events = new GrantWatch((key, token) => run.granted(this, key, BigInt(token)));
    events.listen((event) => run.happened(event));
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

  acquiring({ key, owner }: AcquireRequest): void {
    this.#checkUnused(key, owner, 'asked for again');
  }

  renewing({ key, owner }: RenewRequest): void {
    this.#checkUnused(key, owner, 'renewed');
  }

  releasing({ key, owner }: ReleaseRequest): void {
    this.#givenBack.add(`${key}|${owner}`);
    if ((this.#running.get(`${key}|${owner}`) ?? 0) > 0) {
      this.run.violated(`${owner} released ${key} under a running body`);
    }
  }

  #checkUnused(key: string, owner: string, what: string): void {
    if (this.#givenBack.has(`${key}|${owner}`)) {
      this.run.violated(`${owner} was ${what} for ${key} after it had been given back`);
    }
  }

  /** Counts a body as running under each key of the handle until the result is called. */
  enter(lock: EngineHandle): () => void {
    const leases = lock.keys.map((key) => ({ key, owner: this.#ownerOf(lock, key) }));
    const ids = leases.map(({ key, owner }) => `${key}|${owner}`);
    ids.forEach((id) => this.#running.set(id, (this.#running.get(id) ?? 0) + 1));
    const leave = this.run.register(this, lock);
    return () => {
      ids.forEach((id) => this.#running.set(id, this.#running.get(id)! - 1));
      leave();
    };
  }

  #ownerOf(lock: EngineHandle, key: string): string {
    const holder = this.run.backend.inspect(key);
    return lock.keys.length === 1 || holder === null ? lock.owner : holder.owner;
  }

  /** Takes a lock and works under it, in one of the ways in which people do. */
  async work(): Promise<void> {
    const { random } = this.run;
    const key = random.chance(0.7) ? KEYS[0]! : KEYS[1]!;
    switch (random.int(0, 4)) {
      case 0:
        return this.#bare(await this.engine.acquire(key, this.#settings()));
      case 1:
        return this.#bare(
          await this.engine.acquireAll(
            KEYS.filter(() => random.chance(0.7)).concat('k3'),
            this.#settings(),
          ),
        );
      case 2:
        return this.#framed(key, async () => this.#framed(key, () => this.#dawdle()));
      case 3:
        return this.#framed(key, () => this.#siblings(key));
      default:
        return this.#framed(key, async () => {
          this.run.follow(this.#detached(key));
          await this.#dawdle();
        });
    }
  }

  async #bare(lock: EngineHandle): Promise<void> {
    const leave = this.enter(lock);
    await this.#dawdle(lock);
    leave();
    await lock.release();
    if (lock.held) {
      this.run.violated(`${lock.keys.join()} is held after its release`);
    }
  }

  async #framed(key: string, body: () => Promise<void>): Promise<void> {
    const handle = await this.engine.acquire(key, this.#settings());
    await this.engine.run(handle, async () => {
      const leave = this.enter(handle);
      try {
        await body();
      } finally {
        leave();
      }
    });
  }

  async #siblings(key: string): Promise<void> {
    const running = new Set<EngineHandle>();
    await Promise.all(
      Array.from({ length: 3 }, async () => {
        await this.sleep(this.run.random.int(0, 5));
        try {
          const handle = await this.engine.acquire(key, this.#settings());
          await this.engine.run(handle, async () => {
            const leave = this.enter(handle);
            running.add(handle);
            if ([...running].filter(({ held }) => held).length > 1) {
              this.run.violated(`siblings on ${key} overlap`);
            }
            await this.#dawdle();
            running.delete(handle);
            leave();
          });
        } catch (error) {
          this.run.checkError(error);
        }
      }),
    );
  }

  async #detached(key: string): Promise<void> {
    await this.sleep(this.run.random.int(0, 80));
    await this.#framed(key, () => this.#dawdle());
  }

  /** Spends time under a lock; looks at it, or extends it, or does not care. */
  async #dawdle(lock?: EngineHandle): Promise<void> {
    const { random, weather } = this.run;
    for (let steps = random.int(0, 3); steps > 0; steps--) {
      await this.sleep(random.pick([0, 1, 5, random.int(1, 60)]));
      if (lock !== undefined && random.chance(0.2)) {
        await lock.extend(random.pick([undefined, ...weather.ttls, 50])).catch((error: unknown) => {
          this.run.checkError(error);
        });
      }
    }
  }

  #settings(): AcquireSettings {
    const { random, weather } = this.run;
    const controller = random.chance(0.15) ? new AbortController() : undefined;
    if (controller !== undefined) {
      void this.sleep(random.int(0, 60)).then(() => controller.abort());
    }
    return {
      ...DEFAULTS,
      ttl: random.pick(weather.ttls),
      // In calm weather longer than any answer takes: then the backend is not to blame for a time-out.
      wait: random.pick([0, weather.calm ? 50 : 10, 100, 1000, Infinity]),
      autoExtend: !random.chance(weather.unrenewed),
      retry: { min: 5, max: 50, factor: 1.5, jitter: 0.2 },
      reentrant: random.chance(0.9),
      minHold: random.pick([0, weather.minHold]),
      maxHold: random.chance(0.1) ? 30 : Infinity,
      maxWaiters: random.chance(0.1) ? 2 : Infinity,
      handover: weather.handover === 'mixed' ? random.chance(0.5) : weather.handover === 'on',
      signal: controller?.signal,
    };
  }
}

/** A handle that its user believes to hold. */
interface Holder {
  readonly process: Process;
  readonly lock: EngineHandle;
}

/** Three processes on one backend, all of it decided by one seed. */
export class FuzzRun {
  readonly random: Random;
  readonly weather: Weather;
  readonly world = new FakeClock();
  readonly backend = new MemoryLockDriver({ now: () => this.world.now() });
  readonly #violations: string[] = [];
  readonly #processes: Process[];
  readonly #holders = new Set<Holder>();
  readonly #lastToken = new Map<string, bigint>();
  #underWay = 0;
  /** How often what happened, to see that a run is worth something. */
  readonly counts: Record<string, number> = {};

  constructor(seed: number) {
    this.random = new Random(seed);
    this.weather = drawWeather(this.random);
    this.#processes = Array.from({ length: PROCESSES }, (_, i) => new Process(this, `p${i}`));
  }

  /** Everything that was not as promised. */
  async run(): Promise<readonly string[]> {
    for (const process of this.#processes) {
      for (let worker = 0; worker < WORKERS; worker++) {
        this.follow(this.#rounds(process));
      }
    }
    await this.#storm(this.random.int(200, 600));
    await this.#clearUp();
    return this.#violations;
  }

  violated(what: string): void {
    if (this.#violations.length < 20) {
      this.#violations.push(`${this.world.now() - 1_000_000} ms: ${what}`);
    }
  }

  follow(work: Promise<void>): void {
    this.#underWay++;
    void work
      .catch((error: unknown) => this.checkError(error))
      .finally(() => void this.#underWay--);
  }

  checkError(error: unknown): void {
    if (!(error instanceof LockError)) {
      this.violated(error instanceof Error ? String(error.stack) : String(error));
      return;
    }
    this.#count(error.code);
    if (this.weather.calm && error.code === 'LOCK_DRIVER') {
      this.violated(`The backend was blamed: ${error.message}`);
    }
  }

  register(process: Process, lock: EngineHandle): () => void {
    const holder = { process, lock };
    this.#holders.add(holder);
    this.#look();
    return () => void this.#holders.delete(holder);
  }

  granted(process: Process, key: string, token: bigint): void {
    const last = this.#lastToken.get(key) ?? 0n;
    if (token <= last) {
      this.violated(`${key} has token ${token} in ${process.name} after ${last}`);
    }
    this.#lastToken.set(key, token);
    const others = this.#holdersOf(key).filter((holder) => tokenOf(holder, key) !== token);
    if (others.length > 0) {
      this.violated(`${key} is granted in ${process.name} while ${names(others)} hold it`);
    }
  }

  happened(event: LockEvent): void {
    this.#count(event.type === 'released' && event.handedOver ? 'handedOver' : event.type);
    if (event.type === 'lost' && this.weather.calm) {
      const { message } = event.error;
      if (!/maxHold|shut down/.test(message)) {
        this.violated(`Lost in calm weather: ${message}`);
      }
    }
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  async #rounds(process: Process): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await process.sleep(this.random.int(0, 30));
      try {
        await process.work();
      } catch (error) {
        this.checkError(error);
      }
    }
  }

  async #storm(ms: number): Promise<void> {
    for (const end = this.world.now() + ms; this.world.now() < end;) {
      await this.#tick();
      if (this.weather.calm) {
        continue;
      }
      if (this.random.chance(0.01)) {
        this.random.pick(this.#processes).pause(this.random.int(1, 300));
      }
      if (this.random.chance(0.005)) {
        this.world.block(this.random.int(1, 300));
      }
      if (this.random.chance(0.002)) {
        this.#stop(this.random.pick(this.#processes));
      }
    }
  }

  async #clearUp(): Promise<void> {
    this.#processes.forEach(({ chaos }) => (chaos.faults = 0));
    for (let ms = 0; this.#underWay > 0 && ms < 20_000; ms++) {
      await this.#tick();
    }
    if (this.#underWay > 0) {
      this.violated(`${this.#underWay} pieces of work never ended`);
    }
    if (this.random.chance(0.3)) {
      this.#processes.forEach((process) => this.#stop(process));
    }
    await this.world.advance(3 * LONGEST_TTL);
    await this.world.advance(3 * LONGEST_TTL);
    this.#checkNothingLeft();
  }

  #checkNothingLeft(): void {
    for (const { key, owner } of this.backend.list()) {
      this.violated(`${key} is still locked by ${owner}`);
    }
    for (const { name, clock, driver } of this.#processes) {
      if (clock.timers > 0) {
        this.violated(`${name} has ${clock.timers} timers left`);
      }
      if (driver.listeners > 0) {
        this.violated(`${name} still listens`);
      }
    }
  }

  #stop(process: Process): void {
    if (process.stopped) {
      return;
    }
    process.stopped = true;
    this.follow(
      (async () => {
        await process.engine.drain(this.random.pick([0, 20]));
        await process.engine.stop();
        if (process.clock.timers > 0) {
          this.violated(`${process.name} has ${process.clock.timers} timers after its stop`);
        }
        if (process.driver.listeners > 0) {
          this.violated(`${process.name} listens after its stop`);
        }
      })(),
    );
  }

  async #tick(): Promise<void> {
    await this.world.advance(1);
    if (this.random.chance(0.5)) {
      this.#look();
    }
  }

  /** Two that both say at one moment that they hold a key are what must never be. */
  #look(): void {
    for (const key of KEYS) {
      const holders = this.#holdersOf(key);
      const turns = new Set(holders.map((holder) => tokenOf(holder, key)));
      if (turns.size > 1) {
        this.violated(`${key} is held by ${names(holders)}`);
      }
    }
  }

  #holdersOf(key: string): Holder[] {
    return [...this.#holders].filter(
      ({ process, lock }) => lock.keys.includes(key) && !process.clock.paused && lock.held,
    );
  }
}

function tokenOf({ lock }: Holder, key: string): bigint {
  return lock.fencingTokens[lock.keys.indexOf(key)]!;
}

function names(holders: readonly Holder[]): string {
  return holders
    .map(({ process, lock }) => `${process.name} (${lock.fencingTokens.join()})`)
    .join(' and ');
}

/** Runs one seed; gives what went wrong. */
export async function fuzz(seed: number): Promise<readonly string[]> {
  const violations = await new FuzzRun(seed).run();
  await microtasks();
  return violations.map((violation) => `seed ${seed}: ${violation}`);
}
