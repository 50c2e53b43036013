import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { Lanes } from './lanes.js';
import type { PgConnection } from './pg-connection.js';
import type { Row } from './pg-port.js';
import { causeCodeOf, mayBeOfOneRow } from './postgres-error.js';
import type { Statement } from './statement.js';
import { STATEMENT_TIMEOUT } from './timeouts.js';

/** A kind of request that many can share a statement for. */
export interface Operation<Q extends { readonly key: string }, A> {
  /** How many requests one statement takes. */
  readonly limit: number;
  /** Throws if the request would make its statement fail, and so fail others that share it. */
  check(request: Q): void;
  /** The statement for requests of different keys. */
  statement(requests: readonly Q[]): Statement;
  /**
   * What to try once more after the server has refused the first with this SQLSTATE: it does without what it was refused
   * for, and the answer for whom that leaves out is an error. Without it each request is sent alone.
   */
  secondTry?(requests: readonly Q[], code: string | undefined): Statement | undefined;
  /** The answers in the order of the requests; `ms` is how long the statement took. */
  answers(requests: readonly Q[], rows: readonly Row[], ms: number): readonly (A | Error)[];
}

interface Pending<Q, A> {
  readonly request: Q;
  readonly askedAt: number;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends what one tick asks for, and what is asked for while all lanes are busy, in one statement. */
export class Batcher<Q extends { readonly key: string }, A> {
  readonly #lanes: Lanes;
  readonly #operation: Operation<Q, A>;
  #pending: Pending<Q, A>[] = [];
  #scheduled = false;

  constructor(lanes: Lanes, operation: Operation<Q, A>) {
    this.#lanes = lanes;
    this.#operation = operation;
  }

  ask(request: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#operation.check(request);
      this.#pending.push({ request, askedAt: performance.now(), resolve, reject });
      if (!this.#scheduled) {
        this.#scheduled = true;
        process.nextTick(() => this.#schedule());
      }
    });
  }

  #schedule(): void {
    this.#lanes.add((connection) => this.#sendSome(connection));
  }

  async #sendSome(connection: PgConnection): Promise<void> {
    const batch = this.#take();
    this.#scheduled = this.#pending.length > 0;
    if (this.#scheduled) {
      this.#schedule();
    }
    if (batch.length > 0) {
      await this.#send(connection, batch);
    }
  }

  /** One request per key: a second one in the same statement would fail it. */
  #take(): Pending<Q, A>[] {
    const keys = new Set<string>();
    const rest: Pending<Q, A>[] = [];
    const batch: Pending<Q, A>[] = [];
    const oldest = performance.now() - STATEMENT_TIMEOUT;
    for (const pending of this.#pending) {
      const { key } = pending.request;
      if (pending.askedAt < oldest) {
        pending.reject(notSent(key));
      } else if (batch.length < this.#operation.limit && !keys.has(key)) {
        keys.add(key);
        batch.push(pending);
      } else {
        rest.push(pending);
      }
    }
    this.#pending = rest;
    return batch;
  }

  async #send(
    connection: PgConnection,
    batch: readonly Pending<Q, A>[],
    lastTry?: Statement,
  ): Promise<void> {
    const requests = batch.map(({ request }) => request);
    try {
      const sentAt = performance.now();
      const rows = await connection.run(lastTry ?? this.#operation.statement(requests));
      const answers = this.#operation.answers(requests, rows, performance.now() - sentAt);
      batch.forEach((pending, i) => settle(pending, answers[i] as A | Error));
    } catch (error) {
      await (lastTry || !mayBeOfOneRow(error)
        ? rejectAll(batch, error)
        : this.#sendAgain(connection, batch, error));
    }
  }

  /** One of them made the statement fail, and so nothing was done for any of them. */
  async #sendAgain(
    connection: PgConnection,
    batch: readonly Pending<Q, A>[],
    error: unknown,
  ): Promise<void> {
    const requests = batch.map(({ request }) => request);
    const second = this.#operation.secondTry?.(requests, causeCodeOf(error));
    if (second !== undefined) {
      await this.#send(connection, batch, second);
    } else if (batch.length === 1) {
      rejectAll(batch, error);
    } else {
      await this.#sendApart(connection, batch);
    }
  }

  async #sendApart(connection: PgConnection, batch: readonly Pending<Q, A>[]): Promise<void> {
    for (const pending of batch) {
      await this.#send(connection, [pending], this.#operation.statement([pending.request]));
    }
  }
}

function rejectAll(batch: readonly Pick<Pending<never, never>, 'reject'>[], error: unknown): void {
  batch.forEach((pending) => pending.reject(error));
}

function settle<A>({ resolve, reject }: Pending<unknown, A>, answer: A | Error): void {
  if (answer instanceof Error) {
    reject(answer);
  } else {
    resolve(answer);
  }
}

/** Whoever asked has given up by now, and would have to give back what it got. */
function notSent(key: string): LockDriverError {
  return new LockDriverError('No connection was free for too long, so the request was not sent', {
    keys: [key],
  });
}
