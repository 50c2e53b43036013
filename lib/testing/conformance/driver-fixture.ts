import { randomUUID } from 'node:crypto';
import type { LockDriver, MaybePromise } from '../../interfaces/lock-driver.interface.js';
import { normalizeKey } from '../../key/normalize-key.js';
import type { ConformanceOptions } from './conformance-options.js';
import { Contender } from './contender.js';
import { poll } from './wait.js';

const MICROSECONDS = 1000;

/** The drivers under test, and keys and owners that no other run has used. */
export class DriverFixture {
  readonly #options: ConformanceOptions;
  readonly #run = randomUUID().slice(0, 8);
  #count = 0;
  #drivers: readonly [LockDriver, LockDriver] | undefined;

  constructor(options: ConformanceOptions) {
    this.#options = options;
  }

  /** Milliseconds that one test may take. */
  get timeout(): number {
    return this.#options.timeout ?? 60_000;
  }

  async start(): Promise<void> {
    const first = await this.create();
    const second = await this.#options.second?.();
    await second?.connect?.();
    this.#drivers = [first, second ?? first];
  }

  async stop(): Promise<void> {
    for (const driver of new Set(this.#drivers)) {
      await this.dispose(driver);
    }
  }

  async create(): Promise<LockDriver> {
    const driver = await this.#options.create();
    await driver.connect?.();
    return driver;
  }

  async dispose(driver: LockDriver): Promise<void> {
    await (this.#options.dispose ? this.#options.dispose(driver) : driver.close?.());
  }

  get driver(): LockDriver {
    return this.#both[0];
  }

  /** As another process would have it, where the options say how. */
  get second(): LockDriver {
    return this.#both[1];
  }

  newKey(suffix = ''): string {
    return normalizeKey(`conformance:${this.#unique()}${suffix}`);
  }

  newOwner(node = 'node'): string {
    return `${node}:1#${this.#unique()}`;
  }

  /** Three who want the same key; bob is another process. */
  contenders(key = this.newKey()): Readonly<Record<'alice' | 'bob' | 'carol', Contender>> {
    return {
      alice: this.contender(this.driver, key, this.newOwner('alice')),
      bob: this.contender(this.second, key, this.newOwner('bob')),
      carol: this.contender(this.driver, key, this.newOwner('carol')),
    };
  }

  /** Many who want the same key, from two processes. */
  crowd(size: number, key = this.newKey()): readonly Contender[] {
    return Array.from({ length: size }, (_, index) =>
      this.contender(index % 2 ? this.second : this.driver, key, this.newOwner()),
    );
  }

  contender(driver: LockDriver, key: string, owner: string): Contender {
    return new Contender(driver, key, owner, this.#patience);
  }

  /** Asks again and again until the answer is not false; how long that takes is never judged. */
  poll<T>(what: string, ask: () => MaybePromise<T | false>): Promise<T> {
    return poll(what, ask, this.#patience);
  }

  get purge(): (() => Promise<void>) | undefined {
    const { purge } = this.#options;
    return purge && (async () => void (await purge(this.driver)));
  }

  get hasGate(): boolean {
    return this.#options.hasGate ?? true;
  }

  canTell(what: 'owner' | 'retryAfter'): boolean {
    return !this.#options.omits?.includes(what);
  }

  /** The store's time now, in microseconds, at the earliest and at the latest that it may be. */
  async serverTime(): Promise<{ readonly earliest: number; readonly latest: number }> {
    const { serverTime, clockTolerance = serverTime ? 0 : 1000 } = this.#options;
    const time = serverTime ? await serverTime(this.driver) : Date.now() * MICROSECONDS;
    const tolerance = clockTolerance * MICROSECONDS;
    return { earliest: time - tolerance, latest: time + tolerance };
  }

  get #patience(): number {
    return this.timeout / 2;
  }

  get #both(): readonly [LockDriver, LockDriver] {
    if (this.#drivers === undefined) {
      throw new Error('The drivers are made when the tests begin to run');
    }
    return this.#drivers;
  }

  /** Of one length, so that no key is the beginning of another. */
  #unique(): string {
    return `${this.#run}-${String(this.#count++).padStart(6, '0')}`;
  }
}
