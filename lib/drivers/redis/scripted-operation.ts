import { LockDriverError } from '../../errors/lock-driver.error.js';
import { codeOf } from './explain-error.js';
import type { ScriptRunner } from './script-runner.js';
import type { Script } from './scripts.js';

/** While a call is under way further requests wait for its answer, to be sent together; but no longer than this, in milliseconds. */
const MAX_DELAY = 1;

/** So many calls are under way at most, where each has all the keys that it may have. */
const MAX_CALLS = 3;

/** A request is about one key. */
export interface Keyed {
  readonly key: string;
}

/** How requests of one kind become calls of a script. */
export interface OperationDefinition<Q extends Keyed, A> {
  readonly script: Script;
  readonly runner: ScriptRunner;
  /** How many keys one call may have: the server does nothing else meanwhile. */
  readonly limit: number;
  /** Whether two requests have all in common but key and owner. */
  readonly fits: (one: Q, other: Q) => boolean;
  readonly args: (requests: readonly Q[]) => readonly string[];
  /** One answer for each request; an error where one of them failed. */
  readonly answers: (reply: readonly unknown[], requests: readonly Q[]) => readonly (A | Error)[];
}

/** Something that can be asked for, one by one or many together. */
export interface Operation<Q extends Keyed, A> {
  ask(request: Q): Promise<A>;
  /** Sends many at once; what fails, or is not answered in time, does not fail the others. */
  askAll(requests: readonly Q[], patience?: number): Promise<(A | Error)[]>;
}

/** A request, and who waits for its answer. */
interface Asked<Q, A> {
  readonly request: Q;
  answer(answer: A): void;
  fail(error: Error): void;
}

/**
 * Sends requests of one kind, for keys that a script may use together: at once where nothing is under way, else together with all that come before an answer does. One call for
 * many keys costs client and server a fraction of what as many calls would.
 */
export class ScriptedOperation<Q extends Keyed, A> implements Operation<Q, A> {
  readonly #definition: OperationDefinition<Q, A>;
  readonly #prefix: string;
  #waiting: Asked<Q, A>[] = [];
  #underWay = 0;
  /** Whether the last call had company: then it is worth waiting for the end of this turn of the event loop. */
  #isBusy = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(definition: OperationDefinition<Q, A>, prefix: string) {
    this.#definition = definition;
    this.#prefix = prefix;
  }

  ask(request: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, answer: resolve, fail: reject });
      this.#schedule();
    });
  }

  askAll(requests: readonly Q[]): Promise<(A | Error)[]> {
    return new Promise((resolve) => {
      const answers: (A | Error)[] = [];
      let missing = requests.length;
      const note = (index: number, answer: A | Error): void => {
        answers[index] = answer;
        if (--missing === 0) {
          resolve(answers);
        }
      };
      this.#send(
        requests.map((request, index) => ({
          request,
          answer: (answer) => note(index, answer),
          fail: (error) => note(index, error),
        })),
      );
      if (missing === 0) {
        resolve(answers);
      }
    });
  }

  #schedule(): void {
    const { length } = this.#waiting;
    if (length >= this.#definition.limit) {
      this.#sendFull();
    } else if (length > 1) {
      // The first has seen to it.
    } else if (this.#underWay === 0) {
      this.#flushSoon();
    } else {
      // An answer may never come.
      this.#timer = setTimeout(() => this.#flush(), MAX_DELAY).unref();
    }
  }

  /** Callers that were answered together ask again together, a moment after one another. */
  #flushSoon(): void {
    if (this.#isBusy) {
      setImmediate(() => this.#flush());
    } else {
      queueMicrotask(() => this.#flush());
    }
  }

  /** As much as one call may have, unless there are enough calls to keep client and server busy. */
  #sendFull(): void {
    if (this.#underWay < MAX_CALLS) {
      this.#send(this.#waiting.splice(0, this.#definition.limit));
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const asked = this.#waiting;
    this.#waiting = [];
    this.#send(asked);
  }

  #send(asked: readonly Asked<Q, A>[]): void {
    if (asked.length === 1) {
      this.#call(asked);
    } else {
      this.#groups(asked).forEach((group) => this.#call(group));
    }
  }

  /** What can go out in one call each: with the same arguments, and not too much. */
  #groups(asked: readonly Asked<Q, A>[]): readonly Asked<Q, A>[][] {
    const { fits, limit } = this.#definition;
    const groups: Asked<Q, A>[][] = [];
    for (const one of asked) {
      const group = groups.findLast((other) => fits(other[0]!.request, one.request));
      if (group !== undefined && group.length < limit) {
        group.push(one);
      } else {
        groups.push([one]);
      }
    }
    return groups;
  }

  #call(group: readonly Asked<Q, A>[]): void {
    const { script, runner, args } = this.#definition;
    const requests = group.map(({ request }) => request);
    const keys = requests.map(({ key }) => this.#prefix + key);
    this.#underWay++;
    this.#isBusy = group.length > 1;
    runner.run(script, keys, args(requests)).then(
      (reply) => this.#answered(group, requests, reply),
      (error: Error) => this.#failed(group, error),
    );
  }

  #answered(group: readonly Asked<Q, A>[], requests: readonly Q[], reply: unknown): void {
    if (Array.isArray(reply)) {
      const results = this.#definition.answers(reply, requests);
      group.forEach((asked, index) => settle(asked, results[index]));
      this.#ended();
    } else {
      this.#failed(group, new LockDriverError(`The script has answered with ${String(reply)}`));
    }
  }

  #failed(group: readonly Asked<Q, A>[], error: Error): void {
    if (group.length > 1 && isSplit(error)) {
      group.forEach((asked) => this.#call([asked]));
    } else {
      group.forEach((asked) => asked.fail(error));
    }
    this.#ended();
  }

  #ended(): void {
    this.#underWay--;
    if (this.#waiting.length >= this.#definition.limit) {
      this.#sendFull();
    } else if (this.#underWay === 0 && this.#waiting.length > 0) {
      this.#flush();
    }
  }
}

function settle<Q, A>(asked: Asked<Q, A>, result: A | Error | undefined): void {
  if (result instanceof Error) {
    asked.fail(result);
  } else if (result === undefined) {
    asked.fail(new LockDriverError('The script has not answered for all keys'));
  } else {
    asked.answer(result);
  }
}

/** While a slot moves its keys are on two nodes, and only a script with one key finds its way. Nothing was done then. */
function isSplit(error: unknown): boolean {
  const { cause, message } = error as Error;
  return codeOf(cause) === 'TRYAGAIN' || message.includes('Too many Cluster redirections');
}
