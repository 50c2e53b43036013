import { lastValueFrom, map, Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { lockIdsOf } from '../../../lib/decorators/locked-method.accessor.js';
import { usesLockService } from '../../../lib/decorators/service-slot.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { Bench, methodOf } from './support.js';

abstract class Base {
  keys: () => readonly string[] = () => [];

  @WithLock('base:<0>')
  async inherited(_id: string): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('base:<0>')
  async overridden(_id: string): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('base:<0>')
  async lockedAgain(_id: string): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('same:<0>')
  async sameAgain(_id: string): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('steps:<0>')
  async template(_id: string): Promise<readonly string[]> {
    return this.step();
  }

  @WithLock('rows')
  rows(): Observable<readonly string[]> {
    return of(this.keys());
  }

  abstract step(): Promise<readonly string[]>;

  abstract locked(id: string): Promise<readonly string[]>;
}

class Derived extends Base {
  override async overridden(_id: string): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('derived:<0>')
  override async lockedAgain(id: string): Promise<readonly string[]> {
    return super.lockedAgain(id);
  }

  @WithLock('same:<0>')
  override async sameAgain(id: string): Promise<readonly string[]> {
    return super.sameAgain(id);
  }

  @WithLock('rows')
  override rows(): Observable<readonly string[]> {
    return super.rows().pipe(map((keys) => ['derived', ...keys]));
  }

  async step(): Promise<readonly string[]> {
    return this.keys();
  }

  @WithLock('derived:<0>')
  async locked(_id: string): Promise<readonly string[]> {
    return this.keys();
  }
}

class Last extends Derived {
  override async overridden(id: string): Promise<readonly string[]> {
    const keys = await Base.prototype.overridden.call(this, id);
    return [...keys, 'seen by last'];
  }
}

function benchOf<T extends Base>(type: new () => T): Bench<T> {
  const bench = new Bench(type);
  bench.object.keys = () => [...bench.locked].toSorted();
  return bench;
}

describe('a locked method of a base class', () => {
  it.each([Derived, Last])('is locked in %o, which inherits it', async (type) => {
    const bench = benchOf(type);
    await expect(bench.object.inherited('1')).resolves.toEqual(['base:1']);
    await expect(bench.object.template('1')).resolves.toEqual(['steps:1']);
  });

  it('is not locked where it is overridden without the decorator', async () => {
    const bench = benchOf(Derived);
    await expect(bench.object.overridden('1')).resolves.toEqual([]);
    expect(lockIdsOf(methodOf(Derived, 'overridden'))).toEqual([]);
  });

  it('is locked while an override without the decorator calls it', async () => {
    await expect(benchOf(Last).object.overridden('1')).resolves.toEqual(['base:1', 'seen by last']);
  });

  it('keeps its own lock beside that of an override', async () => {
    const bench = benchOf(Derived);
    await expect(bench.object.lockedAgain('1')).resolves.toEqual(['base:1', 'derived:1']);
    expect(bench.locked).toEqual([]);
    expect(lockIdsOf(methodOf(Derived, 'lockedAgain'))).toHaveLength(1);
  });

  it('joins the lock of an override with the same key', async () => {
    const bench = benchOf(Derived);
    await expect(bench.object.sameAgain('1')).resolves.toEqual(['same:1']);
    expect(bench.asked).toBe(1);
    expect(bench.locked).toEqual([]);
  });

  it('joins it for an observable too', async () => {
    const bench = benchOf(Derived);
    await expect(lastValueFrom(bench.object.rows())).resolves.toEqual(['derived', 'rows']);
    expect(bench.asked).toBe(1);
    expect(bench.locked).toEqual([]);
  });

  it('is locked where it was abstract', async () => {
    await expect(benchOf(Derived).object.locked('1')).resolves.toEqual(['derived:1']);
  });

  it('shares its locks with other classes that inherit it', async () => {
    const [one, other] = [Derived, Last].map((type) => lockIdsOf(methodOf(type, 'inherited')));
    expect(one).toHaveLength(1);
    expect(one).toEqual(other);
  });

  it('asks for the service in each of them, and in none besides', () => {
    expect(usesLockService(new Last(), 'default')).toBe(true);
    expect(usesLockService(new Last(), 'billing')).toBe(false);
    expect(usesLockService({}, 'default')).toBe(false);
  });
});
