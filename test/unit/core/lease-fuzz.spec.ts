import { describe, expect, it } from 'vitest';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { Command } from '../../support/stub-driver.js';
import { follow, LeaseScene, numbers } from './lease-scene.js';

const SEEDS = 400;
const STEPS = 80;
const TTLS = [600, 1500, 3000, 6000, 12_000];

/** A lock whose renewals run and are answered in any order, late, twice over, or never. */
class Turmoil {
  readonly scene: LeaseScene;
  readonly random: (n: number) => number;
  /** Failed for us, but they may still run at the backend. */
  readonly undead: Command[] = [];
  lock!: EngineHandle;

  constructor(readonly seed: number) {
    this.random = numbers(seed);
    this.scene = new LeaseScene('async', { ttl: this.pick(TTLS), autoExtend: seed % 3 > 0 });
    this.scene.driver.manner.renew = 'manual';
  }

  /** What is promised to the holder is no more than what the backend will keep. */
  get isSafe(): boolean {
    const { held, owner, remaining } = this.lock;
    const record = this.scene.driver.inspect('k');
    return !held || (record?.owner === owner && record.remaining >= remaining);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.random(from.length)]!;
  }

  take(from: Command[]): Command | undefined {
    return from.splice(this.random(from.length), 1)[0];
  }

  async step(): Promise<void> {
    const { clock, driver } = this.scene;
    const { commands } = driver;
    const steps: (() => unknown)[] = [
      () => follow(this.lock.extend(this.pick(TTLS))),
      () => follow(this.lock.extend()),
      () => commands[this.random(commands.length)]?.apply(),
      () => this.take(commands)?.answer(),
      () => this.take(commands)?.answer(),
      () => this.#fail(this.take(commands)),
      () => this.take(this.undead)?.apply(),
      () => clock.block(this.random(300)),
      () => clock.advance(this.random(400)),
    ];
    await this.pick(steps)();
    await clock.settle();
  }

  #fail(command: Command | undefined): void {
    if (command !== undefined) {
      command.fail();
      this.undead.push(command);
    }
  }
}

describe('whatever becomes of renewals and extends, and in whatever order they run,', () => {
  it('a lock that says it is held is ours at the backend for at least as long as it says', async () => {
    const broken: string[] = [];
    let checked = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const turmoil = new Turmoil(seed);
      const { scene } = turmoil;
      const lock = (turmoil.lock = await scene.acquire('k'));
      for (let step = 0; step < STEPS && lock.held; step++) {
        await turmoil.step();
        checked++;
        if (!turmoil.isSafe) {
          broken.push(`seed ${seed}, step ${step}`);
        }
      }
      expect(scene.logged.filter(({ type }) => type === 'lost')).toHaveLength(lock.held ? 0 : 1);
      await lock.release();
      await scene.clock.advance(100_000);
      expect({ seed, timers: scene.clock.timers }).toEqual({ seed, timers: 0 });
    }
    expect(broken).toEqual([]);
    expect(checked).toBeGreaterThan(SEEDS * 10);
  });
});
