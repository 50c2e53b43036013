import { type Cases, describeCases } from './compile-cases.js';

const SETUP = `
import { applyDecorators } from '@nestjs/common';
import { lockKey, WithLock, type WithLockOptions } from 'nestjs-distributed-lock';
import { Observable, of } from 'rxjs';
interface Customer { readonly id: string; readonly name?: string }
interface Order {
  readonly id: string;
  readonly customer: Customer;
  readonly agent?: Customer;
  readonly payer: Customer | null;
  readonly lines: readonly { readonly sku: string }[];
  readonly pair: readonly [Customer, number];
  readonly byName: Record<string, Customer>;
  readonly byNumber: Record<number, Customer>;
  readonly extra: any;
  readonly raw: unknown;
}
interface Refund { readonly refundId: string }
declare class Entity { private readonly secret: string; readonly id: string; }
declare class Rows extends Observable<Order> { readonly count: number; }
type Result<T> = Promise<T>;
declare const anyTemplate: string;
declare const anyTemplates: string[];
declare const anyOptions: WithLockOptions;
declare const anything: any;
declare const order: Order;
declare function busyWithThis(this: Entity, id: string): string;
`;

const NOT_ASYNC = 'the method must return a Promise or an Observable';
const NO_METHOD = 'only a method can be locked';
const OTHER_PARAMETERS = 'the key function does not take the parameters of the method';
const NEVER_UNDEFINED = 'onBusy: \\"skip\\" needs a method that may return undefined';
const BUSY_TAKES = 'the onBusy function does not take the parameters of the method';
const BUSY_GIVES = 'the onBusy function does not give what the method returns';
const DOWN_TAKES = 'the onUnavailable function does not take the parameters of the method';
const DOWN_GIVES = 'the onUnavailable function does not give what the method returns';
const without = (placeholder: string): string => `the method has no <${placeholder}>`;

const CASES: Cases = {
  'what the method returns': [
    [`@WithLock('k')`, 'async m()'],
    [`@WithLock('k')`, 'async m(): Promise<void>'],
    [`@WithLock('k')`, 'm(): Promise<Order>'],
    [`@WithLock('k')`, 'm(): PromiseLike<Order>'],
    [`@WithLock('k')`, 'm(): Result<Order>'],
    [`@WithLock('k')`, 'm(): Observable<Order>'],
    [`@WithLock('k')`, 'm(): Rows'],
    [`@WithLock('k')`, 'm(): Promise<Observable<Order>>'],
    [`@WithLock('k')`, 'm(): Promise<Order> | Observable<Order>'],
    [`@WithLock('k')`, 'm(): any'],
    [`@WithLock('k')`, 'm<T extends Order>(order: T): Promise<T>'],
    [`@WithLock('k')`, 'private m(): Promise<void>'],
    [`@WithLock('k')`, 'm(): string', NOT_ASYNC],
    [`@WithLock('k')`, 'm(): void', NOT_ASYNC],
    [`@WithLock('k')`, 'm(): undefined', NOT_ASYNC],
    [`@WithLock('k')`, 'm(): unknown', NOT_ASYNC],
    [`@WithLock('k')`, 'm(): Order', NOT_ASYNC],
    [`@WithLock('k')`, 'm(): Promise<Order>[]', NOT_ASYNC],
    [`@WithLock('k')`, '*m(): Generator<Order>', NOT_ASYNC],
    [`@WithLock('k')`, '*m()', NOT_ASYNC],
    [`@WithLock('k')`, 'async *m(): AsyncGenerator<Order>', NOT_ASYNC],
    [`@WithLock('k')`, 'async *m()', NOT_ASYNC],
    [`@WithLock('k')`, 'get m(): Promise<Order>', NO_METHOD],
    [`@WithLock('k')`, 'set m(order: Order)', NO_METHOD],
  ],
  'a template': [
    [`@WithLock('k:<0>')`, 'async m(id: string)'],
    [`@WithLock('k:{0}')`, 'async m(id: string)'],
    [`@WithLock('k:<0>:{1}')`, 'async m(a: string, b: number)'],
    [`@WithLock('{0}:<1>:{2.id}')`, 'async m(a: string, b: number, order: Order)'],
    [`@WithLock('k:<0.id>')`, 'async m(order: Order)'],
    [`@WithLock('k:{0.customer.id}')`, 'async m(order: Order)'],
    [`@WithLock('k:<0.id>')`, 'async m(entity: Entity)'],
    [`@WithLock('k:<0.length>')`, 'async m(id: string)'],
    [`@WithLock('k:<0.id>')`, 'async m<T extends Order>(order: T)'],
    [`@WithLock('k:<1>')`, 'async m(id: string)', without('1')],
    [`@WithLock('k:{1}')`, 'async m(id: string)', without('1')],
    [`@WithLock('k:<0>')`, 'async m()', without('0')],
    [`@WithLock('k:<id>')`, 'async m(id: string)', without('id')],
    [`@WithLock('order:<0.idd>')`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock('order:{0.idd}')`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock('<0.id>:<0.idd>:x')`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock('{0.id}:<0.idd>')`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock('<0.id>:{0.idd}')`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock('<0.customer.idd>')`, 'async m(order: Order)', without('0.customer.idd')],
    [`@WithLock('<0.custmer.id>')`, 'async m(order: Order)', without('0.custmer.id')],
    [`@WithLock('<0.id.id>')`, 'async m(order: Order)', without('0.id.id')],
    [`@WithLock('<1.id>')`, 'async m(order: Order)', without('1.id')],
    [`@WithLock('<0.secret>')`, 'async m(entity: Entity)', without('0.secret')],
    [`@WithLock('<0.idd>')`, 'async m<T extends Order>(order: T)', without('0.idd')],
    [`@WithLock('<0.id>')`, 'async m(order: Promise<Order>)', without('0.id')],
    [`@WithLock('<1>:<2>')`, 'async m(id: string)', without('1')],
    [`@WithLock('<1>:<2>')`, 'async m(id: string)', without('2')],
  ],
  'several templates': [
    [`@WithLock(['k:<0.id>', 'c:<0.customer.id>'])`, 'async m(order: Order)'],
    [`@WithLock(['k:<0.id>', 'c:{0.idd}'])`, 'async m(order: Order)', without('0.idd')],
    [`@WithLock(['k:<2>', 'fixed'])`, 'async m(order: Order)', without('2')],
    [`@WithLock(['k:<0>', 5])`, 'async m(id: string)', 'number'],
  ],
  'a template and optional, rest, union and loose parameters': [
    [`@WithLock('<0>')`, 'async m(id?: string)'],
    [`@WithLock('<0.id>')`, 'async m(order?: Order)'],
    [`@WithLock('<0.idd>')`, 'async m(order?: Order)', without('0.idd')],
    [`@WithLock('<0.id>')`, 'async m(order: Order | null)'],
    [`@WithLock('<0.idd>')`, 'async m(order: Order | null)', without('0.idd')],
    [`@WithLock('<0.agent.id>')`, 'async m(order: Order)'],
    [`@WithLock('<0.agent.idd>')`, 'async m(order: Order)', without('0.agent.idd')],
    [`@WithLock('<0.payer.id>')`, 'async m(order: Order)'],
    [`@WithLock('<0.payer.idd>')`, 'async m(order: Order)', without('0.payer.idd')],
    [`@WithLock('<0>:<7>')`, 'async m(...ids: string[])'],
    [`@WithLock('<1.id>')`, 'async m(name: string, ...orders: Order[])'],
    [`@WithLock('<1.idd>')`, 'async m(name: string, ...orders: Order[])', without('1.idd')],
    [`@WithLock('<0.id>')`, 'async m(order: Order | Customer)'],
    [`@WithLock('<0.refundId>')`, 'async m(order: Order | Refund)'],
    [`@WithLock('<0.refundIdd>')`, 'async m(order: Order | Refund)', without('0.refundIdd')],
    [`@WithLock('<0.x.y>')`, 'async m(order: any)'],
    [`@WithLock('<0.x.y>')`, 'async m(order: unknown)'],
    [`@WithLock('<0.extra.x.y>:<0.raw.z>')`, 'async m(order: Order)'],
    [`@WithLock('<5.x>')`, 'async m(...args: any[])'],
    [`@WithLock('<1>')`, 'async m(order: any)', without('1')],
    [`@WithLock('<0.lines.0.sku>')`, 'async m(order: Order)'],
    [`@WithLock('<0.lines.0.skuu>')`, 'async m(order: Order)', without('0.lines.0.skuu')],
    [`@WithLock('<0.lines.length>')`, 'async m(order: Order)'],
    [`@WithLock('<0.pair.0.id>')`, 'async m(order: Order)'],
    [`@WithLock('<0.pair.2.id>')`, 'async m(order: Order)', without('0.pair.2.id')],
    [`@WithLock('<0.byName.ann.id>')`, 'async m(order: Order)'],
    [`@WithLock('<0.byName.ann.idd>')`, 'async m(order: Order)', without('0.byName.ann.idd')],
    [`@WithLock('<0.byNumber.7.id>')`, 'async m(order: Order)'],
  ],
  'a template that is not known until it runs': [
    [`@WithLock(anyTemplate)`, 'async m()'],
    [`@WithLock(anyTemplates)`, 'async m()'],
    [`@WithLock([anyTemplate, 'k'])`, 'async m()'],
  ],
  'a key function': [
    [`@WithLock(() => 'k')`, 'async m(order: Order)'],
    [`@WithLock((order: Order) => lockKey\`k:\${order.id}\`)`, 'async m(order: Order)'],
    [`@WithLock((order: Order) => [order.id, 'x'])`, 'async m(order: Order)'],
    [`@WithLock((order: { id: string }) => order.id)`, 'async m(order: Order)'],
    [`@WithLock((id: unknown) => \`\${id}\`)`, 'async m(id: string)'],
    [`@WithLock((id: string) => id)`, 'async m(id: string, amount: number)'],
    [`@WithLock((id: string, amount: number) => id)`, 'async m(id: string, amount: number)'],
    [`@WithLock((id?: string) => id ?? 'none')`, 'async m(id?: string)'],
    [`@WithLock((...ids: string[]) => ids)`, 'async m(a: string, b: string)'],
    [`@WithLock((...ids: string[]) => ids)`, 'async m(...ids: string[])'],
    [`@WithLock((...args: any[]) => args.join())`, 'async m(id: string, amount: number)'],
    [`@WithLock((id: number) => \`\${id}\`)`, 'async m(id: string)', OTHER_PARAMETERS],
    [`@WithLock((order: Order) => order.id)`, 'async m(customer: Customer)', OTHER_PARAMETERS],
    [`@WithLock((id: 'a' | 'b') => id)`, 'async m(id: string)', OTHER_PARAMETERS],
    [`@WithLock((id: string) => id)`, 'async m(id: string | null)', OTHER_PARAMETERS],
    [`@WithLock((id: string) => id)`, 'async m(id?: string)', OTHER_PARAMETERS],
    [`@WithLock((id: string, more: number) => id)`, 'async m(id: string)', OTHER_PARAMETERS],
    [`@WithLock((id: string) => id)`, 'async m()', OTHER_PARAMETERS],
    [`@WithLock((...ids: string[]) => ids)`, 'async m(amount: number)', OTHER_PARAMETERS],
    [
      `@WithLock((id: string, ...n: number[]) => id)`,
      'async m(a: string, b: string)',
      OTHER_PARAMETERS,
    ],
    [`@WithLock(async (id: string) => id)`, 'async m(id: string)', 'Promise<string>'],
    [`@WithLock((id: string) => 5)`, 'async m(id: string)', 'number'],
    [`@WithLock((id: string) => id)`, 'm(id: string): string', NOT_ASYNC],
  ],
  onBusy: [
    [`@WithLock('k', { onBusy: 'throw' })`, 'm(): Promise<string>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<void>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'async m()'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<string | undefined>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<unknown>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<any>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Observable<string>'],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<string>', NEVER_UNDEFINED],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<string | null>', NEVER_UNDEFINED],
    [`@WithLock('k', { onBusy: 'skip' })`, 'm(): Promise<Observable<string>>', NEVER_UNDEFINED],
    [`@WithLock('k', { onBusy: 'skip', wait: '1s' })`, 'm(): Promise<Order>', NEVER_UNDEFINED],
    [`@WithLock('k:<1>', { onBusy: 'skip' })`, 'm(): Promise<void>', without('1')],
    [`@WithLock('k', { onBusy: 'ignore' })`, 'm(): Promise<void>', 'ignore'],
    [`@WithLock('k', { onUnavailable: 'skip' })`, 'm(): Promise<void>', 'string'],
  ],
  'the parameters of onBusy and onUnavailable': [
    [`@WithLock('k', { onBusy: (id: string) => id })`, 'm(id: string): Promise<string>'],
    [`@WithLock('k', { onBusy: (id: string) => id })`, 'm(id: string, n: number): Promise<string>'],
    [`@WithLock('k', { onBusy: () => 'x' })`, 'm(id: string): Promise<string>'],
    [`@WithLock('k', { onBusy: (...a: unknown[]) => 'x' })`, 'm(id: string): Promise<string>'],
    [`@WithLock('k', { onBusy: busyWithThis })`, 'm(id: string): Promise<string>'],
    [`@WithLock('k', { onBusy: (id?: string) => 'x' })`, 'm(id?: string): Promise<string>'],
    [
      `@WithLock('k', { onBusy: (id: number) => 'x' })`,
      'm(id: string): Promise<string>',
      BUSY_TAKES,
    ],
    [`@WithLock('k', { onBusy: (id: string) => id })`, 'm(): Promise<string>', BUSY_TAKES],
    [
      `@WithLock('k', { onBusy: (id: string) => id })`,
      'm(id?: string): Promise<string>',
      BUSY_TAKES,
    ],
    [
      `@WithLock('k', { onBusy: (id: 'a') => id })`,
      'm(id: string): Observable<string>',
      BUSY_TAKES,
    ],
    [`@WithLock('k', { onUnavailable: (id: string) => id })`, 'm(id: string): Promise<string>'],
    [
      `@WithLock('k', { onUnavailable: (id: number) => 'x' })`,
      'm(id: string): Promise<string>',
      DOWN_TAKES,
    ],
    [
      `@WithLock('k', { onUnavailable: (id: string) => id })`,
      'm(): Observable<string>',
      DOWN_TAKES,
    ],
  ],
  'what onBusy and onUnavailable give': [
    [`@WithLock('k', { onBusy: () => null })`, 'm(id: string): Promise<string | null>'],
    [`@WithLock('k', { onBusy: () => 'busy' })`, `m(): Promise<'done' | 'busy'>`],
    [`@WithLock('k', { onBusy: () => 423 })`, `m(): Promise<200 | 423>`],
    [`@WithLock('k', { onBusy: () => false })`, `m(): Promise<false | Order>`],
    [`@WithLock('k', { onBusy: async () => 'busy' as const })`, `m(): Promise<'done' | 'busy'>`],
    [`@WithLock('k', { onBusy: () => Promise.resolve('x') })`, 'm(): Promise<string>'],
    [`@WithLock('k', { onBusy: () => { throw new Error(); } })`, 'm(): Promise<Order>'],
    [`@WithLock('k', { onBusy: async () => { throw new Error(); } })`, 'm(): Promise<Order>'],
    [
      `@WithLock('k', { onBusy: (order: Order) => order.customer })`,
      'm(order: Order): Promise<Customer>',
    ],
    [`@WithLock('k', { onBusy: () => undefined })`, 'm(): Promise<string | undefined>'],
    [`@WithLock('k', { onBusy: () => {} })`, 'm(): Promise<void>'],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): Promise<void>'],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): Promise<unknown>'],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): Promise<any>'],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): any'],
    [`@WithLock('k', { onBusy: () => anything })`, 'm(): Promise<Order>'],
    [
      `@WithLock('k', { onBusy: (order: Order) => order })`,
      'm<T extends Order>(order: T): Promise<Order>',
    ],
    [`@WithLock('k', { onBusy: () => of(order) })`, 'm(): Promise<Observable<Order>>'],
    [`@WithLock('k', { onBusy: () => order })`, 'm(): Observable<Order>'],
    [`@WithLock('k', { onBusy: async () => order })`, 'm(): Observable<Order>'],
    [`@WithLock('k', { onBusy: () => of(order, order) })`, 'm(): Observable<Order>'],
    [`@WithLock('k', { onBusy: () => of(order) })`, 'm(): Rows'],
    [`@WithLock('k', { onBusy: () => undefined })`, 'm(): Observable<Order>'],
    [`@WithLock('k', { onBusy: () => [order] })`, 'm(): Observable<Order[]>'],
    [`@WithLock('k', { onBusy: () => of('x') })`, 'm(): Promise<string> | Observable<string>'],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): Promise<string>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => null })`, 'm(): Promise<string>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => undefined })`, 'm(): Promise<string>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => {} })`, 'm(): Promise<string>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: async () => 5 })`, 'm(): Promise<string>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => 'late' })`, `m(): Promise<'done' | 'busy'>`, BUSY_GIVES],
    [
      `@WithLock('k', { onBusy: (order: Order) => order.id })`,
      'm(order: Order): Promise<Customer>',
      BUSY_GIVES,
    ],
    [`@WithLock('k', { onBusy: () => order })`, 'm(): Promise<Observable<Order>>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => 5 })`, 'm(): Observable<Order>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => of(5) })`, 'm(): Observable<Order>', BUSY_GIVES],
    [`@WithLock('k', { onBusy: () => [order] })`, 'm(): Observable<Order>', BUSY_GIVES],
    [
      `@WithLock('k', { onBusy: () => 5 })`,
      'm(): Promise<string> | Observable<string>',
      BUSY_GIVES,
    ],
    [`@WithLock('k', { onUnavailable: () => [] })`, 'm(): Promise<readonly Order[]>'],
    [`@WithLock('k', { onUnavailable: () => 5 })`, 'm(): Promise<string>', DOWN_GIVES],
    [`@WithLock('k', { onUnavailable: () => of(5) })`, 'm(): Observable<string>', DOWN_GIVES],
    [
      `@WithLock('k', { onBusy: 'skip', onUnavailable: () => 5 })`,
      'm(): Promise<string | undefined>',
      DOWN_GIVES,
    ],
  ],
  'other options': [
    [`@WithLock('k', { ttl: '30s', wait: 5, service: 'billing' })`, 'async m()'],
    [`@WithLock('k', { returns: 'observable' })`, 'm(): Observable<string>'],
    [`@WithLock('k', anyOptions)`, 'm(): Promise<string>'],
    [`@WithLock('k', undefined)`, 'm(): Promise<string>'],
    [`@WithLock('k', { wiat: 5 })`, 'async m()', 'wiat'],
    [`@WithLock('k', { ttl: true })`, 'async m()', "'true'"],
    [`@WithLock('k', { returns: 'value' })`, 'async m()', 'value'],
    [`@WithLock('k', { signal: new AbortController().signal })`, 'async m()', 'signal'],
    [`@WithLock()`, 'async m()', 'Expected 1-2 arguments'],
    [`@WithLock(5)`, 'async m()', 'number'],
  ],
  'other decorators': [
    [`@applyDecorators(WithLock('k:<0>'), WithLock(['a', 'b']))`, 'async m(id: string)'],
    [`@applyDecorators(WithLock((id: string) => id, { onBusy: 'skip' }))`, 'async m(id: string)'],
    [`@WithLock('a:<0>') @WithLock('b:<0>')`, 'async m(id: string)'],
    [`@WithLock('a:<0>') @WithLock('b:<1>')`, 'async m(id: string)', without('1')],
  ],
};

describeCases('@WithLock', SETUP, CASES);
