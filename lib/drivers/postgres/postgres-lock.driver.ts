import { createHash } from 'node:crypto';
import type {
  AcquireRequest,
  Admission,
  AdmitRequest,
  AdmitStatement,
  Denial,
  Grant,
  ListRequest,
  LockDriver,
  LockRecord,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
  Unsubscribe,
} from '../../interfaces/lock-driver.interface.js';
import { type Acquired, AcquireOperation } from './acquire.operation.js';
import { Administration, recordOf } from './administration.js';
import { Batcher } from './batcher.js';
import { checkKey, checkText } from './checks.js';
import { clientFactory } from './client-factory.js';
import { prepareTables } from './create-table.js';
import { PostgresGate } from './gate.js';
import { quote } from './identifiers.js';
import { Lanes } from './lanes.js';
import { PgConnection } from './pg-connection.js';
import type { PgPool } from './pg-port.js';
import {
  type PostgresLockDriverOptions,
  type PostgresSettings,
  resolvePostgresOptions,
} from './postgres-options.js';
import { direct, pooled } from './protocol.js';
import { Purger } from './purger.js';
import { ReleaseListener } from './release-listener.js';
import { ReleaseOperation } from './release.operation.js';
import { RenewOperation } from './renew.operation.js';

/** How long statements under way may take when the driver is closed. */
const CLOSE_TIMEOUT = 1000;

/**
 * Locks in a table of PostgreSQL, each operation one statement, timed by the server's clock. It uses connections of its
 * own, made with the options of the pool that it is given: a handler may wait for a lock while it holds the last
 * connection of that pool.
 */
export class PostgresLockDriver implements LockDriver {
  readonly name: string = 'postgres';
  readonly #settings: PostgresSettings;
  readonly #acquiring: Lanes;
  /** Renewals and releases never stand behind acquires. */
  readonly #keeping: Lanes;
  /** Admissions may wait for somebody's transaction, which locks never do. */
  readonly #admitting: Lanes;
  readonly #acquire: AcquireOperation;
  readonly #acquires: Batcher<AcquireRequest, Acquired | Denial>;
  readonly #renewals: Batcher<RenewRequest, RenewResult>;
  readonly #releases: Batcher<ReleaseRequest, ReleaseResult>;
  readonly #administration: Administration;
  readonly #listener: ReleaseListener | undefined;
  readonly #purger: Purger;
  readonly #gate: PostgresGate;

  constructor(options: PgPool | PostgresLockDriverOptions) {
    const settings = resolvePostgresOptions(options);
    const { poolSize, retention, notify, prepare } = settings;
    const table = quote(settings);
    const channel = channelOf(table);
    const create = clientFactory(settings);
    const lanes = (size: number): Lanes =>
      new Lanes(
        Array.from({ length: size }, () => new PgConnection(create, prepare ? direct : pooled)),
      );
    this.#settings = settings;
    this.#keeping = lanes(1);
    this.#acquiring = lanes(poolSize - (notify ? 2 : 1));
    this.#admitting = lanes(poolSize - (notify ? 2 : 1));
    this.#acquire = new AcquireOperation(table);
    this.#acquires = new Batcher(this.#acquiring, this.#acquire);
    this.#renewals = new Batcher(this.#keeping, new RenewOperation(table));
    this.#releases = new Batcher(this.#keeping, new ReleaseOperation(table, channel));
    this.#administration = new Administration(table, channel);
    this.#purger = new Purger(this.#keeping, {
      name: 'lock-purge',
      table,
      key: 'key',
      since: 'greatest(abs(l.expires), l.last)',
      keep: retention,
      pause: retention,
    });
    this.#gate = new PostgresGate(settings, this.#admitting, this.#keeping);
    this.#listener = notify
      ? new ReleaseListener({ create, lanes: this.#keeping, channel, trusting: prepare })
      : undefined;
  }

  /** Opens a connection, and creates or checks the tables; a driver that was closed can be connected again. */
  connect(): Promise<readonly string[]> {
    this.#lanes.forEach((lanes) => lanes.reopen());
    this.#listener?.reopen();
    return prepareTables(this.#keeping, this.#settings, this.#settings.createTable);
  }

  async acquire(request: AcquireRequest): Promise<Grant | Denial> {
    this.#purger.open();
    const answer = await this.#acquires.ask(request);
    if ('firstToken' in answer) {
      return this.#granted(answer);
    }
    if (request.wantFor !== undefined) {
      this.#listener?.start();
    }
    return answer;
  }

  async renew(leases: readonly RenewRequest[]): Promise<readonly (RenewResult | Error)[]> {
    const answers = await Promise.allSettled(leases.map((lease) => this.#renewals.ask(lease)));
    return resultsOf(answers);
  }

  release(lease: ReleaseRequest): Promise<ReleaseResult> {
    return this.#releases.ask(lease);
  }

  /** Only where notices work, as far as is known: without them waiters ask again and again. */
  get onReleased(): ((key: string, listener: () => void) => Unsubscribe) | undefined {
    return this.#listener?.works ? this.#subscribe : undefined;
  }

  async inspect(key: string): Promise<LockRecord | null> {
    checkKey(key);
    const [row] = await this.#acquiring.run(this.#administration.inspect(key));
    return row === undefined ? null : recordOf(row);
  }

  async list(request: ListRequest = {}): Promise<readonly LockRecord[]> {
    checkText(request.prefix ?? '', 'prefix');
    const rows = await this.#acquiring.run(this.#administration.list(request));
    return rows.map((row) => recordOf(row));
  }

  async forceRelease(key: string): Promise<boolean> {
    checkKey(key);
    const [row] = await this.#keeping.run(this.#administration.forceRelease(key));
    return row?.[0] === 'true';
  }

  /**
   * Admits a token by a connection of the driver's own, or in the transaction of a `pg` client or of an `EntityManager` or
   * `QueryRunner` of TypeORM; what its client throws is then thrown as it is.
   */
  admitToken(request: AdmitRequest, transaction?: unknown): Promise<Admission> {
    return this.#gate.admit(request, transaction);
  }

  admitStatement(request: AdmitRequest): AdmitStatement {
    return this.#gate.statement(request);
  }

  /** Ends the driver's own connections; statements under way have a second to be answered. */
  async close(): Promise<void> {
    this.#purger.close();
    this.#gate.close();
    await this.#listener?.close();
    await this.#settled();
    await Promise.all(this.#lanes.map((lanes) => lanes.close()));
  }

  get #lanes(): readonly Lanes[] {
    return [this.#keeping, this.#acquiring, this.#admitting];
  }

  async #settled(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_TIMEOUT)));
    await Promise.race([Promise.all(this.#lanes.map((lanes) => lanes.idle())), over]);
    clearTimeout(timer);
  }

  readonly #subscribe = (key: string, tell: () => void): Unsubscribe => {
    const heard = (): void => {
      this.#acquire.expectFree(key);
      tell();
    };
    return this.#listener?.subscribe(key, heard) ?? (() => undefined);
  };

  #granted({ firstToken, tokens, isNew }: Acquired): Grant {
    if (isNew) {
      this.#purger.added();
    }
    return { firstToken, tokens };
  }
}

/** Databases have channels of their own; a name of one length fits in 63 bytes whatever the table is called. */
function channelOf(table: string): string {
  return `nestjs-lock-${createHash('sha256').update(table).digest('hex').slice(0, 32)}`;
}

/** Where some are known, the others alone are unknown. */
function resultsOf(
  answers: readonly PromiseSettledResult<RenewResult>[],
): readonly (RenewResult | Error)[] {
  const [first] = answers;
  if (first?.status === 'rejected' && answers.every(({ status }) => status === 'rejected')) {
    throw first.reason;
  }
  return answers.map((answer) =>
    answer.status === 'fulfilled' ? answer.value : (answer.reason as Error),
  );
}
