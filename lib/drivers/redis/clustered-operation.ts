import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { Keyed, Operation } from './scripted-operation.js';
import { LONGEST_TIMER } from './within.js';

/** Requests in a cluster, where a script may use keys of one slot only: those for different slots do not wait for each other. */
export class ClusteredOperation<Q extends Keyed, A> implements Operation<Q, A> {
  readonly #slotOf: (key: string) => number;
  readonly #create: () => Operation<Q, A>;
  readonly #bySlot = new Map<number, Operation<Q, A>>();

  constructor(slotOf: (key: string) => number, create: () => Operation<Q, A>) {
    this.#slotOf = slotOf;
    this.#create = create;
  }

  ask(request: Q): Promise<A> {
    return this.#of(this.#slotOf(request.key)).ask(request);
  }

  /** A node that is gone may never answer: then what the others have said counts when the patience is over. */
  async askAll(requests: readonly Q[], patience?: number): Promise<(A | Error)[]> {
    const answers = requests.map((): A | Error => new LockDriverError('The node has not answered'));
    const asked = Array.from(this.#indicesBySlot(requests), async ([slot, indices]) => {
      const own = await this.#of(slot).askAll(indices.map((index) => requests[index]!));
      indices.forEach((index, position) => (answers[index] = own[position]!));
    });
    await (patience === undefined ? Promise.all(asked) : atMost(patience, Promise.all(asked)));
    return [...answers];
  }

  #indicesBySlot(requests: readonly Q[]): ReadonlyMap<number, readonly number[]> {
    const bySlot = new Map<number, number[]>();
    requests.forEach(({ key }, index) => {
      const slot = this.#slotOf(key);
      const indices = bySlot.get(slot);
      if (indices === undefined) {
        bySlot.set(slot, [index]);
      } else {
        indices.push(index);
      }
    });
    return bySlot;
  }

  #of(slot: number): Operation<Q, A> {
    let operation = this.#bySlot.get(slot);
    if (operation === undefined) {
      operation = this.#create();
      this.#bySlot.set(slot, operation);
    }
    return operation;
  }
}

/** Resolves with the promise, or when so many milliseconds are over. */
function atMost(ms: number, promise: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER)).unref();
    void promise.then(resolve).finally(() => clearTimeout(timer));
  });
}
