import { LockConfigError } from '../../errors/lock-config.error.js';
import { LockDriverError } from '../../errors/lock-driver.error.js';
import type {
  Admission,
  AdmitRequest,
  AdmitStatement,
} from '../../interfaces/lock-driver.interface.js';
import { GateStatement } from './gate-statement.js';
import { gateOf, quote } from './identifiers.js';
import type { Lanes } from './lanes.js';
import { codeOf } from './postgres-error.js';
import type { PostgresSettings } from './postgres-options.js';
import { Purger } from './purger.js';
import { queryIn } from './transaction-port.js';

/** The table of the gate is not there or not as it must be, or may not be used. */
const UNUSABLE = new Set(['3F000', '42501', '42703', '42804', '42P01', '42P10']);

/** Another transaction that has admitted a token to the resource is still open. */
const STILL_LOCKED = '55P03';

/** The fencing gate, in a table of its own. */
export class PostgresGate {
  readonly #lanes: Lanes;
  readonly #table: string;
  readonly #statement: GateStatement;
  readonly #purger: Purger;

  /** @param lanes for admissions alone: they may have to wait for somebody's transaction */
  constructor(settings: PostgresSettings, lanes: Lanes, purging: Lanes) {
    const table = quote(gateOf(settings));
    this.#lanes = lanes;
    this.#table = table;
    this.#purger = new Purger(purging, {
      name: 'gate-purge',
      table,
      key: 'resource',
      since: 'l.expires',
      keep: 0,
      pause: settings.retention,
    });
    this.#statement = new GateStatement(table, () => this.#purger.added());
  }

  async admit(request: AdmitRequest, transaction: unknown): Promise<Admission> {
    const { text, values, admission } = this.statement(request);
    try {
      return admission(
        transaction === undefined
          ? await this.#alone(text, values)
          : await queryIn(transaction, text, values),
      );
    } catch (error) {
      throw this.#explained(error, request.resource);
    }
  }

  statement(request: AdmitRequest): AdmitStatement {
    this.#purger.open();
    return this.#statement.of(request);
  }

  close(): void {
    this.#purger.close();
  }

  async #alone(text: string, values: readonly unknown[]): Promise<readonly object[]> {
    const rows = await this.#lanes.run({ name: 'gate-admit', text, values });
    return rows.map(([rule, newest, added]) => ({ rule, newest, added }));
  }

  /** What the operator can mend; anything else stays as it is, for whoever repeats transactions looks at it. */
  #explained(error: unknown, resource: string): unknown {
    const cause = error instanceof LockDriverError ? error.cause : error;
    const code = codeOf(cause) ?? '';
    if (UNUSABLE.has(code)) {
      return new LockConfigError(
        `The fencing gate cannot use its table ${this.#table}: ${(cause as Error).message}. Run the SQL that \`schema()\` gives, ` +
          'and GRANT the role of the application SELECT, INSERT, UPDATE and DELETE on it',
        { keys: [resource], cause },
      );
    }
    return code === STILL_LOCKED && error !== cause ? stillLocked(resource, cause) : error;
  }
}

function stillLocked(resource: string, cause: unknown): LockDriverError {
  return new LockDriverError(
    'A transaction that has admitted a token to this resource did not end in time: admissions to one resource wait for ' +
      'each other',
    { keys: [resource], cause },
  );
}
