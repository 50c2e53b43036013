import { LockConfigError } from '../../errors/lock-config.error.js';
import { badOption } from '../../options/option-error.js';
import type { PgPool } from '../postgres/pg-port.js';
import { PostgresLockDriver } from '../postgres/postgres-lock.driver.js';
import type { PostgresTableOptions } from '../postgres/postgres-options.js';

/** What this driver uses of a TypeORM `DataSource`. */
export interface TypeOrmDataSource {
  readonly isInitialized: boolean;
  readonly options: { readonly type: string };
  readonly driver: object;
}

/** Options of a {@link TypeOrmLockDriver}. */
export interface TypeOrmLockDriverOptions extends PostgresTableOptions {
  /** An initialised `DataSource` of type `postgres`, whose settings are used for connections of the driver's own. */
  readonly dataSource: TypeOrmDataSource;
}

const SUPPORTED = ['postgres'];

/** Locks in PostgreSQL for applications with TypeORM: the driver for `pg`, connected as the `DataSource` is. */
export class TypeOrmLockDriver extends PostgresLockDriver {
  override readonly name = 'typeorm';

  constructor(options: TypeOrmDataSource | TypeOrmLockDriverOptions) {
    const { dataSource, ...rest } = isDataSource(options)
      ? { dataSource: options }
      : (options ?? {});
    super({ ...rest, pool: new DataSourcePool(checked(dataSource)) });
  }
}

/** The pool of the `DataSource`, looked up when a connection is first needed: before it may not be there, and at shutdown it goes before us. */
class DataSourcePool implements PgPool {
  readonly #dataSource: TypeOrmDataSource;
  #found: PgPool | undefined;

  constructor(dataSource: TypeOrmDataSource) {
    this.#dataSource = dataSource;
  }

  get options(): object {
    return this.#pool.options;
  }

  get Client(): unknown {
    return Reflect.get(this.#pool, 'Client');
  }

  connect(): unknown {
    return this.#pool.connect();
  }

  get #pool(): PgPool {
    return (this.#found ??= poolOf(this.#dataSource));
  }
}

/** Where the `DataSource` has replicas, the pool for writing. */
function poolOf({ isInitialized, driver }: TypeOrmDataSource): PgPool {
  const { master } = driver as { readonly master?: PgPool };
  if (!isInitialized || master === undefined) {
    throw new LockConfigError(
      'The DataSource is not initialised: await dataSource.initialize() first, or inject the DataSource of ' +
        'TypeOrmModule by DistributedLockModule.forRootAsync({ inject: [DataSource], ... })',
    );
  }
  return master;
}

function isDataSource(value: unknown): value is TypeOrmDataSource {
  return typeof (value as Partial<TypeOrmDataSource> | null)?.isInitialized === 'boolean';
}

function checked(dataSource: unknown): TypeOrmDataSource {
  if (!isDataSource(dataSource)) {
    throw badOption('dataSource', dataSource, 'a DataSource of TypeORM');
  }
  const { type } = dataSource.options;
  if (!SUPPORTED.includes(type)) {
    throw new LockConfigError(
      `The DataSource is of type ${type}; a TypeOrmLockDriver needs one of type ${SUPPORTED.join(', ')}`,
    );
  }
  return dataSource;
}
