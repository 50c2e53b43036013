import type { Keyed, Operation } from './scripted-operation.js';

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

  async askAll(requests: readonly Q[]): Promise<(A | Error)[]> {
    const answers: (A | Error)[] = [];
    const asked = Array.from(this.#indicesBySlot(requests), async ([slot, indices]) => {
      const own = await this.#of(slot).askAll(indices.map((index) => requests[index]!));
      indices.forEach((index, position) => (answers[index] = own[position]!));
    });
    await Promise.all(asked);
    return answers;
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
