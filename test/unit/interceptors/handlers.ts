import { Next, Res } from '@nestjs/common';
import { Observable } from 'rxjs';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import type { LockServiceOptions } from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import type {
  ReleaseRequest,
  ReleaseResult,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

/** Releases a little later, as a backend across a network does: who does not wait for it finds the key locked. */
export class RemoteDriver extends TestLockDriver {
  override async release(request: ReleaseRequest): Promise<ReleaseResult> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return super.release(request);
  }
}

/** A controller whose handlers do what the test says. */
export class Handlers {
  readonly driver: TestLockDriver;
  readonly locks: LockService;
  readonly log: string[] = [];
  body: (...args: unknown[]) => unknown = () => Promise.resolve('done');

  constructor(
    options: Partial<LockServiceOptions> = {},
    driver: TestLockDriver = new RemoteDriver(),
  ) {
    this.driver = driver;
    this.locks = attachLocks(this, new LockService({ driver, wait: 1000, ...options }));
  }

  /** The keys that are locked now, as the backend sees it. */
  get locked(): readonly string[] {
    return this.driver
      .list()
      .map(({ key }) => key)
      .toSorted();
  }

  /** How often the backend was asked for a lock. */
  get asked(): number {
    return this.driver.calls.filter(({ operation }) => operation === 'acquire').length;
  }

  /** Writes down that something happens, and whether it is under the lock. */
  note(what: string): void {
    this.log.push(`${what}, ${this.locked.length > 0 ? 'locked' : 'free'}`);
  }

  @WithLock('k')
  promise(): Promise<unknown> {
    return this.body() as Promise<unknown>;
  }

  @WithLock('k')
  observable(): Observable<unknown> {
    return this.body() as Observable<unknown>;
  }

  @WithLock('k')
  async promiseOfObservable(): Promise<Observable<unknown>> {
    return this.body() as Promise<Observable<unknown>>;
  }

  @WithLock('k:<0>')
  async keyed(id: string): Promise<unknown> {
    return this.body(id);
  }

  @WithLock('outer')
  @WithLock('inner')
  async twice(): Promise<unknown> {
    return this.body();
  }

  @WithLock('account:<0>')
  @WithLock('account:<1>')
  async transfer(_from: string, _to: string): Promise<unknown> {
    return this.body();
  }

  @WithLock('k')
  async recursive(depth: number): Promise<unknown> {
    return depth === 0 ? this.body() : this.recursive(depth - 1);
  }

  @WithLock('k', { onBusy: 'skip' })
  async skips(): Promise<unknown> {
    return this.body();
  }

  @WithLock('k', { onBusy: 'skip' })
  observableSkips(): Observable<unknown> {
    return this.body() as Observable<unknown>;
  }

  @WithLock('k')
  async answering(@Res() _response: unknown): Promise<unknown> {
    return this.body();
  }

  @WithLock('k')
  async passing(@Next() _next: unknown): Promise<unknown> {
    return this.body();
  }

  @WithLock('k')
  async passthrough(@Res({ passthrough: true }) _response: unknown): Promise<unknown> {
    return this.body();
  }

  async free(): Promise<unknown> {
    return this.body();
  }
}

/** The ways in which a handler can give the same: a body for each, made of one for observables. */
export const KINDS = [
  {
    kind: 'promise',
    of: (source: () => Observable<unknown>) => () =>
      new Promise((resolve, reject) => {
        let last: unknown;
        source().subscribe({
          next: (value) => {
            last = value;
          },
          error: reject,
          complete: () => resolve(last),
        });
      }),
  },
  { kind: 'observable', of: (source: () => Observable<unknown>) => source },
  {
    kind: 'promiseOfObservable',
    of: (source: () => Observable<unknown>) => async () => source(),
  },
] as const;
