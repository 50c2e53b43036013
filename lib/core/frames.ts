import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHandle } from '../interfaces/lock-handle.interface.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { EngineHandle } from './lock-handle.js';

/** What a frame asks of the lock that it stands for; or of several, also such as are taken while it is open. */
export interface FrameLocks {
  /** The hold on `key`, if there is one in that engine. */
  holdOn(key: string, context: EngineContext): Hold | null;
  /** Whether any belongs to that engine. */
  isOf(context: EngineContext): boolean;
  /** Whether any key is still held, or may yet be. */
  readonly isLive: boolean;
  /** Throws `LockLostError` unless the lock is still held; not there where the frame stands for locks yet to be taken. */
  assertHeld?(): void;
  /** The innermost handle that fits and is still held. */
  find(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined;
}

/** A lock as seen by the async context that runs under it. */
interface Frame {
  readonly locks: FrameLocks;
  parent: Frame | undefined;
}

/** One for the process: `currentLock()` knows of all engines. Nothing is slowed before the first frame is opened. */
const frames = new AsyncLocalStorage<Frame>();

/** The innermost frame, this one or further out, under which something is still held. */
function liveFrame(frame: Frame | undefined): Frame | undefined {
  while (frame !== undefined && !frame.locks.isLive) {
    frame = frame.parent;
  }
  return frame;
}

/** Runs `work` under the handle. Frames that have died are cut out, so that chains of detached work stay short. */
export function runInFrame<T, L extends FrameLocks>(locks: L, work: (locks: L) => T): T {
  const parent = liveFrame(frames.getStore());
  if (parent !== undefined) {
    parent.parent = liveFrame(parent.parent);
  }
  return frames.run({ locks, parent }, work, locks);
}

/** The async context in which the process loads its modules: no lock, and nobody's request. */
const outside = AsyncLocalStorage.snapshot();

/** Runs `work` as if nobody had called for it: under no lock, and in no request whose context would live on with it. */
export function runOutsideFrames<T>(work: () => T): T {
  return outside(work);
}

/** Whether the caller runs under a lock of this engine that is still held. */
export function isUnderLock(context: EngineContext): boolean {
  for (let frame = liveFrame(frames.getStore()); frame; frame = liveFrame(frame.parent)) {
    if (frame.locks.isOf(context)) {
      return true;
    }
  }
  return false;
}

/** The hold on `key` that the caller runs under, if its body still runs and its lock is still held. */
export function currentHold(key: string, context: EngineContext, now: number): Hold | null {
  for (let frame = frames.getStore(); frame !== undefined; frame = frame.parent) {
    const hold = frame.locks.holdOn(key, context);
    if (hold !== null && hold.open && hold.turn.isHeld(now)) {
      return hold;
    }
  }
  return null;
}

/** The innermost handle that fits and is still held, by the caller's async context. */
export function currentHandle(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined {
  for (let frame = frames.getStore(); frame !== undefined; frame = frame.parent) {
    const handle = frame.locks.find(fits);
    if (handle !== undefined) {
      return handle;
    }
  }
  return undefined;
}

/** Throws `LockLostError` if the innermost lock that the caller runs under is not held any more. */
export function assertInnermostHeld(): void {
  frames.getStore()?.locks.assertHeld?.();
}

/** Whether any frame is open around the caller. */
export function inFrame(): boolean {
  return frames.getStore() !== undefined;
}

/** The lock that the calling async context holds: the innermost, or the innermost on `key` (with its namespace). */
export function currentLock(key?: string): LockHandle | undefined {
  return currentHandle((handle) => key === undefined || handle.keys.includes(key));
}
