import { lockKey, LockService, MemoryLockDriver, WithLock } from 'nestjs-distributed-lock';
import { attachLocks } from 'nestjs-distributed-lock/testing';
import { alternate, type Standing } from './support/alternate.js';
import type { Bench, Finding } from './support/bench.js';
import { ratio } from './support/compare.js';
import { alone, type Turn } from './support/ways.js';

const AT_MOST = 1.5;

/** The same work, locked by the decorator and by hand. */
class Orders {
  readonly #locks = attachLocks(this, new LockService(new MemoryLockDriver()));

  @WithLock('bench')
  async decorated(): Promise<void> {}

  byHand(): Promise<void> {
    return this.#locks.withLock('bench', () => this.#work());
  }

  @WithLock('order:<0>')
  async decoratedById(_id: string): Promise<void> {}

  byHandById(id: string): Promise<void> {
    return this.#locks.withLock(lockKey`order:${id}`, () => this.#work());
  }

  async #work(): Promise<void> {}
}

/** What the decorator adds to a lock that nobody else wants, as services call it: there is no handler around it. */
export const withLockDecorator: Bench = {
  name: 'with-lock-decorator',
  about: 'what a method with @WithLock costs, in calls of LockService.withLock() by hand',
  run: async () => {
    const orders = new Orders();
    return [
      ...(await cost('@WithLock, a fixed key', {
        decorated: () => orders.decorated(),
        byHand: () => orders.byHand(),
      })),
      ...(await cost('@WithLock, a key of the arguments', {
        decorated: () => orders.decoratedById('7'),
        byHand: () => orders.byHandById('7'),
      })),
    ];
  },
};

async function cost(
  what: string,
  { decorated, byHand }: Readonly<Record<'decorated' | 'byHand', Turn>>,
): Promise<Finding[]> {
  const [hand, decorator, control] = (await alternate([
    { name: 'withLock', run: alone(byHand) },
    { name: '@WithLock', run: alone(decorated) },
    { name: 'withLock again', run: alone(byHand) },
  ])) as [Standing, Standing, Standing];
  return [
    { ...ratio(what, hand, decorator), target: { bound: 'below', value: AT_MOST } },
    ratio('  control: withLock() again', hand, control),
    ratio('  by the wall clock', hand, decorator, 'wall'),
  ];
}
