import { LockConfigError } from '../../errors/lock-config.error.js';

/** What runs statements in a caller's transaction: a client of `pg`, or an EntityManager or QueryRunner of TypeORM. */
interface Transaction {
  query(text: string, values: unknown[]): unknown;
}

/** What tells them apart from what looks like them, and is no transaction. */
interface Suspect extends Partial<Transaction> {
  readonly getRepository?: unknown;
  readonly startTransaction?: unknown;
  readonly queryRunner?: { readonly isTransactionActive?: boolean };
  readonly isTransactionActive?: boolean;
  readonly totalCount?: unknown;
}

const WHAT_WILL_DO =
  'give a client of pg after BEGIN, or the EntityManager or QueryRunner of a transaction of TypeORM. For any other client ' +
  'run what `statement(resource, token)` gives';

/** Runs a statement in the caller's transaction. What the client throws is passed on as it is. */
export async function queryIn(
  transaction: unknown,
  text: string,
  values: readonly unknown[],
): Promise<readonly object[]> {
  const answer: unknown = await checked(transaction).query(text, [...values]);
  const rows: unknown = Array.isArray(answer)
    ? answer
    : (answer as { readonly rows?: unknown } | null | undefined)?.rows;
  if (!Array.isArray(rows)) {
    throw new LockConfigError(
      `What was given as transaction answers without rows: ${WHAT_WILL_DO}`,
    );
  }
  return rows as readonly object[];
}

function checked(value: unknown): Transaction {
  const suspect = value as Suspect | null | undefined;
  if (typeof suspect?.query !== 'function') {
    throw new LockConfigError(`What was given as transaction has no query(): ${WHAT_WILL_DO}`);
  }
  if (isOutside(suspect)) {
    throw new LockConfigError(
      `What was given as transaction is in none, so check and write would not commit together: ${WHAT_WILL_DO}`,
    );
  }
  return suspect as Transaction;
}

/** A pool, a DataSource, or a manager or a runner of TypeORM that has begun no transaction. */
function isOutside(suspect: Suspect): boolean {
  if (typeof suspect.getRepository === 'function') {
    return suspect.queryRunner?.isTransactionActive !== true;
  }
  return typeof suspect.startTransaction === 'function'
    ? suspect.isTransactionActive !== true
    : typeof suspect.totalCount === 'number';
}
