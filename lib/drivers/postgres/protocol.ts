import { LockConfigError } from '../../errors/lock-config.error.js';
import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { PgAnswer, PgClient, PgResult, Row } from './pg-port.js';
import type { Statement } from './statement.js';
import { LOCK_TIMEOUT, STATEMENT_TIMEOUT } from './timeouts.js';

/** How statements go over a connection. */
export interface Protocol {
  /** Makes the connection ready. */
  begin(client: PgClient): Promise<unknown>;
  /** Runs one statement in READ COMMITTED, in a transaction of its own. */
  send(client: PgClient, statement: Statement): Promise<PgAnswer>;
}

/** The database's default may be less than `on`, and what is stricter stays. */
const SYNCHRONOUS = `set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, `;

/** A session that is ours alone: its settings were sent when it began, and statements are prepared once. */
export const direct: Protocol = {
  async begin(client) {
    const settings = `SELECT current_setting('transaction_isolation'), current_setting('lock_timeout')`;
    const [row] = rowsOf(await client.query({ text: settings, rowMode: 'array' }));
    if (row?.[0] !== 'read committed' || row[1] !== `${LOCK_TIMEOUT / 1000}s`) {
      throw new LockConfigError(
        'The server did not take the settings of the session, so there is a pooler in between: set `prepare: false`',
      );
    }
    await client.query({ text: `SELECT ${SYNCHRONOUS} false)` });
  },

  send: (client, { name, text, values }) => client.query({ name, text, values, rowMode: 'array' }),
};

/** A session that others use between two transactions: nothing may outlive the transaction. */
export const pooled: Protocol = {
  begin: () => Promise.resolve(),

  async send(client, { text, values, timeout = STATEMENT_TIMEOUT }) {
    // Sent without waiting for one another's answers.
    const answers = await Promise.allSettled([
      client.query({ text: beginTransaction(timeout) }),
      client.query({ text, values, rowMode: 'array' }),
      client.query({ text: 'COMMIT' }),
    ]);
    const [, answer, end] = answers.map((settled) => valueOf(settled)) as [
      unknown,
      PgAnswer,
      PgAnswer,
    ];
    const command = lastOf(end)?.command;
    if (command !== 'COMMIT') {
      throw new LockDriverError(`The server answered COMMIT with ${command}`);
    }
    return answer;
  },
};

function beginTransaction(timeout: number): string {
  return (
    `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${timeout}; ` +
    `SET LOCAL lock_timeout = ${LOCK_TIMEOUT}; ` +
    `SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_TIMEOUT}; SELECT ${SYNCHRONOUS} true)`
  );
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') {
    throw settled.reason;
  }
  return settled.value;
}

export function rowsOf(answer: PgAnswer): readonly Row[] {
  return lastOf(answer)?.rows ?? [];
}

/** Several statements in one text have an answer each. */
function lastOf(answer: PgAnswer): PgResult | undefined {
  return Array.isArray(answer) ? (answer as readonly PgResult[]).at(-1) : (answer as PgResult);
}
