import { defer, type Observable, tap } from 'rxjs';
import { LockService } from '../../../../lib/lock.service.js';
import { attachLocks } from '../../../../lib/testing/attach-locks.js';
import { Random } from '../../../support/random.js';
import { pass, passUntil } from '../../../support/virtual-timers.js';
import { callHandler } from '../handler-call.js';
import { drawArounds, IMPATIENT, OVERLAPPING } from './arounds.js';
import { Bodies } from './bodies.js';
import { DistantDriver } from './distant.driver.js';
import { FuzzedController, METHODS, TWO_LOCKS } from './fuzzed.controller.js';

/** Long enough for all bodies of a run, one after the other: who waits so long waits for himself. */
const FOR_EVER = 20_000;

/** What may go wrong. */
interface Weather {
  readonly requests: number;
  readonly wait: number;
  readonly leave: boolean;
  readonly lose: boolean;
  readonly busy: boolean;
  readonly fail: boolean;
}

function drawWeather(random: Random): Weather {
  const isCalm = random.chance(0.4);
  const may = (probability: number): boolean => !isCalm && random.chance(probability);
  return {
    requests: random.pick([1, 1, 2, 3]),
    wait: may(0.3) ? random.pick([0, 15]) : FOR_EVER,
    leave: may(0.4),
    lose: may(0.3),
    busy: may(0.3),
    fail: may(0.2),
  };
}

/** Requests to handlers of one key, among all that may stand around them: all of it decided by one seed. */
export class HandlerFuzz {
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #isDistant: boolean;
  readonly #driver: DistantDriver;
  readonly #locks: LockService;
  readonly #bodies: Bodies;
  readonly #controller: FuzzedController;
  readonly #plans: string[] = [];
  readonly #violations: string[] = [];
  #underWay = 0;
  /** So many have been made: a call that was left may still run. */
  #calls = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#weather = drawWeather(this.#random);
    const farthest = this.#random.pick([0, 0, 5]);
    this.#isDistant = farthest > 0;
    this.#driver = new DistantDriver(() => this.#random.int(0, farthest));
    const { wait } = this.#weather;
    // Errors in the form of a transport need packages that are loaded in real time.
    this.#locks = new LockService({ driver: this.#driver, wait, mapErrors: false });
    this.#bodies = new Bodies(this.#random, (what) => this.#violated(what));
    this.#controller = new FuzzedController(this.#bodies);
    attachLocks(this.#controller, this.#locks);
  }

  /** Gives everything that was not as promised. */
  async run(): Promise<readonly string[]> {
    const { requests, lose, busy, fail } = this.#weather;
    if (busy) {
      const lock = await passUntil(this.#locks.tryAcquire('k'));
      this.#later(() => void lock?.release());
    }
    if (fail) {
      this.#driver.failNext(1);
    }
    for (let i = 0; i < requests; i++) {
      const call = this.#drawCall();
      this.#later(() => this.#follow(call));
    }
    if (lose) {
      this.#later(() => void this.#locks.forceRelease('k'));
    }
    await this.#end();
    return this.#violations.map((what) => `${what}: ${this.#plans.join('; ')}`);
  }

  #drawCall(): Observable<unknown> {
    const method = this.#random.pick(METHODS);
    const audit = (): Promise<unknown> => this.#locks.withLock('k', () => this.#bodies.promise());
    const [insideNames, inside] = drawArounds(this.#random, 4, audit);
    const [outsideNames, outside] = drawArounds(this.#random, 1);
    const oneByOne = !TWO_LOCKS.has(method) && !insideNames.some((name) => this.#blurs(name));
    this.#plans.push(`${outsideNames.join()}[${insideNames.join()}]${method}`);
    return callHandler(this.#controller, method, {
      inside,
      outside: [...outside, (next) => this.#watched(next.handle(), oneByOne)],
      type: 'rpc',
    });
  }

  /** Whether something may still be on its way when the caller is told, as a request to the backend that nobody waits for. */
  #blurs(name: string): boolean {
    return OVERLAPPING.has(name) || (this.#isDistant && IMPATIENT.has(name));
  }

  /** Looks at one call of the handler where its caller does. */
  #watched(chain: Observable<unknown>, oneByOne: boolean): Observable<unknown> {
    return defer(() => {
      this.#calls++;
      const told = (): void => this.#checkFree();
      return chain.pipe(tap(oneByOne ? { error: told, complete: told } : {}));
    });
  }

  #follow(call: Observable<unknown>): void {
    this.#underWay++;
    const ended = (): void => void this.#underWay--;
    const subscription = call.subscribe({
      error: (error: Error & { code?: string }) => {
        this.#checkError(error);
        ended();
      },
      complete: ended,
    });
    if (this.#weather.leave) {
      this.#later(() => {
        this.#underWay -= subscription.closed ? 0 : 1;
        subscription.unsubscribe();
      });
    }
  }

  #checkError(error: Error & { code?: string }): void {
    if (error.code === 'LOCK_TIMEOUT' && this.#weather.wait === FOR_EVER) {
      this.#violated('somebody waits for himself');
    }
    if (error.code === 'LOCK_LOST' && !this.#weather.lose) {
      this.#violated('a lock is lost that nobody took away');
    }
  }

  /** Where there is no other, the lock is back when the caller is told, unless a body still runs. */
  #checkFree(): void {
    const { lose, busy } = this.#weather;
    const isAlone = this.#calls === 1 && !lose && !busy;
    if (isAlone && !this.#bodies.isRunning && this.#driver.list().length > 0) {
      this.#violated('the caller is told while his key is locked');
    }
  }

  async #end(): Promise<void> {
    await pass(100);
    for (let ms = 0; this.#underWay > 0 && ms < 2 * FOR_EVER; ms += 100) {
      await pass(100);
    }
    await pass(200);
    if (this.#underWay > 0) {
      this.#violated('a call never ends');
    }
    if (this.#bodies.isRunning) {
      this.#violated('a body never ends');
    }
    if (this.#driver.list().length > 0) {
      this.#violated('a key stays locked');
    }
    await passUntil(this.#locks.onApplicationShutdown());
  }

  #later(work: () => void): void {
    setTimeout(work, this.#random.int(0, 40));
  }

  #violated(what: string): void {
    this.#violations.push(what);
  }
}
