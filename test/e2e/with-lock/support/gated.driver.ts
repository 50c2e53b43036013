import type { MaybePromise, ReleaseRequest, ReleaseResult } from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { Deferred } from '../../../support/deferred.js';
import { Inbox } from '../../../support/inbox.js';

/** Gives locks back when the test lets it. */
export class GatedDriver extends TestLockDriver {
  /** What is asked for while the gate is shut; resolving it lets it through. */
  readonly asked = new Inbox<Deferred>();
  isShut = false;

  override release(lease: ReleaseRequest): MaybePromise<ReleaseResult> {
    if (!this.isShut) {
      return super.release(lease);
    }
    const gate = new Deferred();
    this.asked.add(gate);
    return gate.promise.then(() => super.release(lease));
  }
}
