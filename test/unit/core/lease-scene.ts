import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import type { RenewRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { TestEngine } from '../../support/engine.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type Call, type Manner, StubDriver } from '../../support/stub-driver.js';

/** A ttl whose sixths are whole seconds. */
export const TTL = 6000;

/** What is taken off a ttl of 6 s for clocks that drift and timers that fire late. */
export const MARGIN = 65;

/** The most by which a renewal may come early: jitter, and to go together with others. */
export const EARLY = 0.1;

/** For how long a lease of 6 s is believed after it was asked for. */
export const LIFE = TTL - MARGIN;

/** Where no answer comes, renewals go out at these times: at two to five sixths of a life, less half of the jitter. */
export const TRIES = [2, 3, 4, 5].map((sixths) => Math.ceil(((LIFE * sixths) / 6) * 0.975));

type SceneOptions = Partial<AcquireSettings> & {
  clockSkew?: number;
  handoverMaxTime?: number;
  observed?: boolean;
  random?: () => number;
};

/** What has become of a promise so far. */
export interface Fate<T> {
  state: 'pending' | 'resolved' | 'rejected';
  value?: T;
  error?: unknown;
}

/** Watches a promise without waiting for it; its rejection is handled by that. */
export function follow<T>(promise: Promise<T>): Fate<T> {
  const fate: Fate<T> = { state: 'pending' };
  promise.then(
    (value) => Object.assign(fate, { state: 'resolved', value }),
    (error: unknown) => Object.assign(fate, { state: 'rejected', error }),
  );
  return fate;
}

/** Whole numbers below `n`, the same for the same seed. */
export function numbers(seed: number): (n: number) => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** One process, one backend and one clock; times are told from the beginning of the scene. */
export class LeaseScene extends TestEngine {
  override readonly driver: StubDriver;
  readonly start: number;

  constructor(manner: Manner, options: SceneOptions = {}) {
    const clock = new FakeClock();
    const driver = new StubDriver(clock, manner);
    super(driver, clock, { ttl: TTL, ...options });
    this.driver = driver;
    this.start = clock.now();
  }

  get time(): number {
    return this.clock.now() - this.start;
  }

  /** When an operation was asked for. */
  times(operation: Call['operation']): number[] {
    return this.#calls(operation).map(({ at }) => at - this.start);
  }

  /** What was asked for, one entry per call. */
  requests<T>(operation: Call['operation']): T[] {
    return this.#calls(operation).map(({ request }) => request as T);
  }

  /** The leases of all renewals, one after the other. */
  get renewals(): RenewRequest[] {
    return this.requests<readonly RenewRequest[]>('renew').flat();
  }

  /** Somebody else takes the key, as a backend that lost its data would let him. */
  usurp(key: string): void {
    this.driver.backend.forceRelease(key);
    this.driver.backend.acquire({ key, owner: 'other:1#x', ttl: 60_000 });
  }

  #calls(operation: Call['operation']): Call[] {
    return this.driver.calls.filter((call) => call.operation === operation);
  }
}
