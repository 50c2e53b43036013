import type { LockLostError } from '../errors/lock-lost.error.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { LockHandleJson } from '../interfaces/lock-handle.interface.js';
import type { Duration } from '../interfaces/lock-options.interface.js';
import type { AcquireSettings } from './acquire-settings.js';
import type { Clock } from './clock.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { EngineHandle, KeyHandle } from './lock-handle.js';
import type { Answer } from './maybe-promise.js';

/** Takes one key of several. */
export type AcquireOne = (
  key: string,
  settings: AcquireSettings,
  since: number,
) => MaybePromise<KeyHandle>;

/**
 * Takes all keys in the given order, each held while the next is waited for: all of them or none. A key that is lost
 * meanwhile starts it over, within what is left of `wait`.
 */
export async function acquireSeveral(
  keys: readonly string[],
  settings: AcquireSettings,
  clock: Clock,
  acquireOne: AcquireOne,
): Promise<EngineHandle> {
  const since = clock.now();
  // These count from when all keys are held: a try that fails leaves nothing behind, and waiting uses nothing up.
  const each = { ...settings, minHold: 0, maxHold: Infinity };
  for (;;) {
    const handles: KeyHandle[] = [];
    try {
      for (const key of keys) {
        handles.push(await acquireOne(key, each, since));
      }
    } catch (error) {
      await releaseAll(handles);
      throw error;
    }
    const lost = handles.find((handle) => !handle.held);
    if (lost === undefined) {
      handles.forEach((handle) => handle.limit(settings));
      return new SeveralHandle(handles);
    }
    await releaseAll(handles);
    if (clock.now() - since >= settings.wait) {
      lost.assertHeld();
    }
  }
}

async function releaseAll(handles: readonly EngineHandle[]): Promise<boolean> {
  const released = await Promise.all(handles.toReversed().map((handle) => handle.release()));
  return released.every(Boolean);
}

/** The handle of several keys: held while all of them are. */
class SeveralHandle implements EngineHandle {
  readonly #handles: readonly KeyHandle[];
  #controller: AbortController | null = null;
  #closed: Promise<boolean> | null = null;

  constructor(handles: readonly KeyHandle[]) {
    this.#handles = handles;
  }

  get keys(): readonly string[] {
    return this.#handles.flatMap((handle) => handle.keys);
  }

  get owner(): string {
    return this.#handles[0]!.owner;
  }

  get fencingToken(): bigint {
    throw new LockConfigError(
      'A lock on several keys has a fencing token for each: use fencingTokens',
      { keys: this.keys },
    );
  }

  get fencingTokens(): readonly bigint[] {
    return this.#handles.map((handle) => handle.fencingToken);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      this.#handles.forEach(({ signal }) => this.#watch(signal));
    }
    return this.#controller.signal;
  }

  get held(): boolean {
    return this.#handles.every((handle) => handle.held);
  }

  get remaining(): number {
    return Math.min(...this.#handles.map((handle) => handle.remaining));
  }

  assertHeld(): void {
    this.#handles.forEach((handle) => handle.assertHeld());
  }

  async extend(ttl?: Duration): Promise<void> {
    const extended = await Promise.allSettled(this.#handles.map((handle) => handle.extend(ttl)));
    const failure = extended.find(({ status }) => status === 'rejected');
    if (failure !== undefined) {
      throw (failure as PromiseRejectedResult).reason;
    }
  }

  release(): Promise<boolean> {
    return (this.#closed ??= this.#release());
  }

  close(): Answer {
    return this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  toJSON(): LockHandleJson {
    const { keys, owner, held, remaining } = this;
    return { keys, owner, fencingTokens: this.fencingTokens.map(String), held, remaining };
  }

  holdOn(key: string, context: EngineContext): Hold | null {
    for (const handle of this.#handles) {
      const hold = handle.holdOn(key, context);
      if (hold !== null) {
        return hold;
      }
    }
    return null;
  }

  get isJoined(): boolean {
    return this.#handles.every((handle) => handle.isJoined);
  }

  get isLive(): boolean {
    return this.#handles.some((handle) => handle.held);
  }

  find(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined {
    return fits(this) && this.held ? this : undefined;
  }

  isOf(context: EngineContext): boolean {
    return this.#handles[0]!.isOf(context);
  }

  lostError(): LockLostError | null {
    return (
      this.#handles.map((handle) => handle.lostError()).find((error) => error !== null) ?? null
    );
  }

  #release(): Promise<boolean> {
    // A key that was joined has a signal that lives on.
    if (this.#controller !== null) {
      this.#handles.forEach(({ signal }) => signal.removeEventListener('abort', this));
    }
    return releaseAll(this.#handles);
  }

  #watch(signal: AbortSignal): void {
    if (signal.aborted) {
      this.#controller?.abort(signal.reason);
    } else {
      signal.addEventListener('abort', this);
    }
  }

  /** One of the keys is lost. */
  handleEvent({ target }: Event): void {
    this.#controller?.abort((target as AbortSignal).reason);
  }
}
