import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { FakeClock } from '../fake-clock.js';
import { Random } from '../random.js';
import { Judge } from './judge.js';
import { Process, type Surroundings } from './process.js';
import { drawWeather, LONGEST_TTL, type Weather } from './weather.js';

const PROCESSES = 3;
const WORKERS = 5;
const ROUNDS = 3;

/** Three processes on one backend, all of it decided by one seed. */
export class FuzzRun implements Surroundings {
  readonly random: Random;
  readonly weather: Weather;
  readonly world = new FakeClock();
  readonly backend = new MemoryLockDriver({ now: () => this.world.now() });
  readonly judge: Judge;
  readonly #processes: Process[];
  #underWay = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.weather = drawWeather(this.random);
    this.judge = new Judge(this.world, this.weather);
    this.#processes = Array.from({ length: PROCESSES }, (_, i) => new Process(this, `p${i}`));
  }

  /** Gives everything that was not as promised. */
  async run(): Promise<readonly string[]> {
    for (const process of this.#processes) {
      for (let worker = 0; worker < WORKERS; worker++) {
        this.follow(this.#rounds(process));
      }
    }
    await this.#storm(this.random.int(200, 600));
    await this.#clearUp();
    return this.judge.violations;
  }

  follow(work: Promise<void>): void {
    this.#underWay++;
    void work
      .catch((error: unknown) => this.judge.failed(error))
      .finally(() => void this.#underWay--);
  }

  async #rounds(process: Process): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await process.sleep(this.random.int(0, 30));
      await process.work().catch((error: unknown) => this.judge.failed(error));
    }
  }

  async #storm(ms: number): Promise<void> {
    for (const end = this.world.now() + ms; this.world.now() < end;) {
      await this.#tick();
      if (!this.weather.calm) {
        this.#strike();
      }
    }
  }

  #strike(): void {
    const process = this.random.pick(this.#processes);
    if (this.random.chance(0.01)) {
      process.pause(this.random.int(1, 300));
    }
    if (this.random.chance(0.005)) {
      this.world.block(this.random.int(1, 300));
    }
    if (this.random.chance(0.002)) {
      this.#stop(process);
    }
    if (this.weather.lawless && this.random.chance(0.05)) {
      void process.engine.forceRelease('k1');
    }
  }

  async #tick(): Promise<void> {
    await this.world.advance(1);
    if (this.random.chance(0.5)) {
      this.judge.look();
    }
  }

  /** Nothing goes wrong any more: then everything has to come to an end. */
  async #clearUp(): Promise<void> {
    this.#processes.forEach(({ chaos }) => (chaos.faults = 0));
    for (let ms = 0; this.#underWay > 0 && ms < 20_000; ms++) {
      await this.#tick();
    }
    if (this.#underWay > 0) {
      this.judge.violated(`${this.#underWay} pieces of work never ended`);
    }
    if (this.random.chance(0.3)) {
      this.#processes.forEach((process) => this.#stop(process));
    }
    await this.world.advance(6 * LONGEST_TTL);
    this.#checkNothingLeft();
  }

  #checkNothingLeft(): void {
    for (const { key, owner } of this.backend.list()) {
      this.judge.violated(`${key} is still locked by ${owner}`);
    }
    this.#processes.forEach((process) => this.#checkIdle(process, 'at the end'));
  }

  #checkIdle({ name, clock, driver }: Process, when: string): void {
    if (clock.timers > 0) {
      this.judge.violated(`${name} has ${clock.timers} timers ${when}`);
    }
    if (driver.listeners > 0) {
      this.judge.violated(`${name} has ${driver.listeners} listeners ${when}`);
    }
  }

  #stop(process: Process): void {
    if (process.stopped) {
      return;
    }
    process.stopped = true;
    const stop = async (): Promise<void> => {
      await process.engine.drain(this.random.pick([0, 20]));
      await process.engine.stop();
      this.#checkIdle(process, 'after its stop');
    };
    this.follow(stop());
  }
}

/** Runs one seed; gives what went wrong. */
export async function fuzz(seed: number): Promise<readonly string[]> {
  const violations = await new FuzzRun(seed).run();
  return violations.map((violation) => `seed ${seed}: ${violation}`);
}
