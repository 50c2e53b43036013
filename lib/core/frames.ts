import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHandle } from '../interfaces/lock-handle.interface.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { EngineHandle } from './lock-handle.js';

/** A lock as seen by the async context that runs under it. */
interface Frame {
  readonly handle: EngineHandle;
  readonly parent: Frame | undefined;
}

/** One for the process: `currentLock()` knows of all engines. Nothing is slowed before the first frame is opened. */
const frames = new AsyncLocalStorage<Frame>();

/** The innermost frame, this one or further out, whose lock is still held. */
function liveFrame(frame: Frame | undefined): Frame | undefined {
  while (frame !== undefined && !frame.handle.held) {
    frame = frame.parent;
  }
  return frame;
}

/** Runs `work` under the handle. Frames whose lock is gone are left out, so that chains of detached work stay short. */
export function runInFrame<T>(handle: EngineHandle, work: (lock: LockHandle) => T): T {
  return frames.run({ handle, parent: liveFrame(frames.getStore()) }, work, handle);
}

/** Whether the caller runs under a lock of this engine that is still held. */
export function isUnderLock(context: EngineContext): boolean {
  return currentHandle((handle) => handle.isOf(context)) !== undefined;
}

/** The hold on `key` that the caller runs under, if its body still runs and its lock is still held. */
export function currentHold(key: string, context: EngineContext, now: number): Hold | null {
  for (let frame = frames.getStore(); frame !== undefined; frame = frame.parent) {
    const hold = frame.handle.holdOn(key, context);
    if (hold !== null && hold.open && hold.turn.isHeld(now)) {
      return hold;
    }
  }
  return null;
}

/** The innermost handle that fits and is still held, by the caller's async context. */
export function currentHandle(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined {
  for (
    let frame = liveFrame(frames.getStore());
    frame !== undefined;
    frame = liveFrame(frame.parent)
  ) {
    if (fits(frame.handle)) {
      return frame.handle;
    }
  }
  return undefined;
}

/** Whether any frame is open around the caller. */
export function inFrame(): boolean {
  return frames.getStore() !== undefined;
}

/** The lock that the calling async context holds: the innermost, or the innermost on `key` (with its namespace). */
export function currentLock(key?: string): LockHandle | undefined {
  return currentHandle((handle) => key === undefined || handle.keys.includes(key));
}
