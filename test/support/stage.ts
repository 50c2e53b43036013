import { currentLock, type LockHandle } from 'nestjs-distributed-lock';
import { lastValueFrom, Observable, ReplaySubject } from 'rxjs';
import { Deferred } from './deferred.js';
import { Inbox } from './inbox.js';

/** One run of a handler's body: it does what the test says, when the test says it. */
export class Act {
  /** The lock that the body runs under, as the body sees it. */
  readonly lock: LockHandle | undefined = currentLock();
  readonly #values = new ReplaySubject<string>();
  readonly #played = new Deferred();
  readonly #left = new Deferred();

  /** The body emits a value and goes on; a promise settles later with the last one. */
  emit(value: string): void {
    this.#values.next(value);
  }

  complete(): void {
    this.#values.complete();
  }

  finish(value: string): void {
    this.emit(value);
    this.complete();
  }

  fail(error: unknown): void {
    this.#values.error(error);
  }

  /** Settles when what the body returned is subscribed to; of a promise, at once. */
  get played(): Promise<void> {
    return this.#played.promise;
  }

  /** Settles when the body has ended, or was unsubscribed. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  /** @internal */
  play(leave: () => void): Observable<string> {
    return new Observable((subscriber) => {
      subscriber.add(this.#values.subscribe(subscriber));
      this.#played.resolve();
      return () => {
        leave();
        this.#left.resolve();
      };
    });
  }
}

/** Where handlers play: it knows how many were at it at once. */
export class Stage {
  /** How many bodies run now. */
  running = 0;
  /** How many have run at the same time, at most. */
  mostAtOnce = 0;
  /** How many have begun. */
  begun = 0;
  /** The bodies that have begun, in their order. */
  readonly acts = new Inbox<Act>();

  promise(): Promise<string> {
    return lastValueFrom(this.#begin());
  }

  observable(): Observable<string> {
    return new Observable((subscriber) => this.#begin().subscribe(subscriber));
  }

  async promiseOfObservable(): Promise<Observable<string>> {
    const observable = this.#begin();
    await Promise.resolve();
    return observable;
  }

  #begin(): Observable<string> {
    const act = new Act();
    this.begun++;
    this.running++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    this.acts.add(act);
    return act.play(() => this.running--);
  }
}
