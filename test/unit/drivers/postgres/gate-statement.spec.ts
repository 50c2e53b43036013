import { describe, expect, it } from 'vitest';
import { GateStatement } from '../../../../lib/drivers/postgres/gate-statement.js';
import { LockConfigError } from '../../../../lib/errors/lock-config.error.js';

describe('the statement of the gate', () => {
  const { admission } = new GateStatement('"gate"', () => undefined).of({
    resource: 'a',
    token: 1,
    retention: 1000,
  });

  it.each([undefined, null, { rows: [{ rule: 'admitted' }] }, [null], ['admitted'], [{}]])(
    'wants the rows that it gave, and says so where it gets %j',
    (rows) => {
      expect(() => admission(rows as never)).toThrow(LockConfigError);
      expect(() => admission(rows as never)).toThrow(/these are not its rows/);
    },
  );
});
