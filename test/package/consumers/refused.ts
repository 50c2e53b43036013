// What the packed declarations must refuse: a line below a directive that compiles fails the build, and so does a line
// without one that does not.
import { applyDecorators, Injectable } from '@nestjs/common';
import {
  DistributedLockModule,
  lockKey,
  MemoryLockDriver,
  WithLock,
} from 'nestjs-distributed-lock';
import { Observable, of } from 'rxjs';

interface Customer {
  readonly id: string;
}

interface Order {
  readonly id: string;
  readonly customer: Customer;
  readonly agent?: Customer;
}

declare const template: string;

const Locked = applyDecorators(WithLock('order:<0.id>', { wait: 0 }), WithLock(['a', 'b:{0.id}']));

@Injectable()
export class Fine {
  @WithLock('order:<0.id>:{0.customer.id}:<1>:<2.anything>')
  async template(_order: Order, _name: string, _rest: unknown): Promise<void> {}

  @WithLock(template)
  async unknownTemplate(): Promise<void> {}

  @WithLock('order:<0.agent.id>')
  async optional(_order: Order): Promise<void> {}

  @WithLock((order: Order) => [lockKey`order:${order.id}`, 'orders'])
  observable(_order: Order, _more: number): Observable<Order> {
    return new Observable();
  }

  @WithLock('order', { onBusy: 'skip' })
  async skips(): Promise<string | undefined> {
    return undefined;
  }

  @WithLock('order', { onBusy: (id: string) => id, onUnavailable: async () => 'later' })
  async answers(id: string): Promise<string> {
    return id;
  }

  @WithLock('order', { onBusy: () => 'busy' })
  async answersByAWord(): Promise<'done' | 'busy'> {
    return 'done';
  }

  @WithLock('order', { onBusy: () => of('a', 'b'), onUnavailable: () => undefined })
  answersWithAnObservable(): Observable<string> {
    return new Observable();
  }

  @Locked
  async composed(_order: Order): Promise<void> {}
}

@Injectable()
export class Refused {
  // @ts-expect-error It returns neither a promise nor an observable.
  @WithLock('order')
  sync(): string {
    return '';
  }

  // @ts-expect-error
  @WithLock('order')
  nothing(): void {}

  // @ts-expect-error
  @WithLock('order')
  *generator(): Generator<string> {}

  // @ts-expect-error
  @WithLock('order')
  async *asyncGenerator(): AsyncGenerator<string> {}

  // @ts-expect-error It is no method.
  @WithLock('order')
  get accessor(): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error There is no second argument.
  @WithLock('order:<1>')
  async missingArgument(_order: Order): Promise<void> {}

  // @ts-expect-error An order has no `idd`.
  @WithLock('order:<0.idd>')
  async missingProperty(_order: Order): Promise<void> {}

  // @ts-expect-error
  @WithLock('order:{0.customer.idd}')
  async missingPropertyInBraces(_order: Order): Promise<void> {}

  // @ts-expect-error
  @WithLock('order:<0.agent.idd>')
  async missingPropertyOfOptional(_order?: Order): Promise<void> {}

  // @ts-expect-error
  @WithLock(['order:<0.id>', 'order:<0.idd>'])
  async missingInOneOfSeveral(_order: Order): Promise<void> {}

  // @ts-expect-error The method's argument is no number.
  @WithLock((id: number) => `order:${id}`)
  async otherParameter(_id: string): Promise<void> {}

  // @ts-expect-error
  @WithLock((id: 'a' | 'b') => `order:${id}`)
  async narrowerParameter(_id: string): Promise<void> {}

  // @ts-expect-error
  @WithLock((id: string, more: string) => `order:${id}:${more}`)
  async tooManyParameters(_id: string): Promise<void> {}

  // @ts-expect-error It always returns a string.
  @WithLock('order', { onBusy: 'skip' })
  async neverUndefined(): Promise<string> {
    return '';
  }

  // @ts-expect-error The method's argument is no number.
  @WithLock('order', { onBusy: (id: number) => `${id}` })
  async busyTakesOther(_id: string): Promise<string> {
    return '';
  }

  // @ts-expect-error It gives a string, and not a number.
  @WithLock('order', { onBusy: () => 5 })
  async busyGivesOther(): Promise<string> {
    return '';
  }

  // @ts-expect-error
  @WithLock('order', { onBusy: () => 'late' })
  async busyGivesAnotherWord(): Promise<'done' | 'busy'> {
    return 'done';
  }

  // @ts-expect-error
  @WithLock('order', { onBusy: () => of(5) })
  busyEmitsOther(): Observable<string> {
    return new Observable();
  }

  // @ts-expect-error
  @WithLock('order', { onUnavailable: (id: number) => `${id}` })
  async unavailableTakesOther(_id: string): Promise<string> {
    return '';
  }

  // @ts-expect-error
  @WithLock('order', { onUnavailable: async () => undefined })
  async unavailableGivesOther(): Promise<string> {
    return '';
  }

  // @ts-expect-error
  @WithLock('order', { onBusy: 'ignore' })
  async noSuchChoice(): Promise<void> {}

  // @ts-expect-error
  @WithLock('order', { wiat: 0 })
  async noSuchOption(): Promise<void> {}
}

DistributedLockModule.forRoot({
  driver: new MemoryLockDriver(),
  // @ts-expect-error What to answer is said at each method.
  onBusy: 'skip',
});
