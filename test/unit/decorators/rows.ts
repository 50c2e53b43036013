import { Observable, of } from 'rxjs';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';

/** Its methods give the observable that the test says. */
export class Orders {
  readonly name = 'orders';
  calls = 0;
  source: () => Observable<unknown> = () => of('a', 'b');

  @WithLock('k')
  rows(..._args: unknown[]): Observable<unknown> {
    this.calls++;
    return this.source();
  }

  @WithLock(['k', 'l'])
  both(): Observable<unknown> {
    return this.source();
  }

  @WithLock('a')
  @WithLock('b', { returns: 'observable' })
  twice(): Observable<unknown> {
    return this.source();
  }

  @WithLock('k')
  nested(depth: number): Observable<unknown> {
    return depth === 0 ? this.source() : this.nested(depth - 1);
  }
}
