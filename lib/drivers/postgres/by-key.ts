import type { Row } from './pg-port.js';

/** Rows by their first column. */
export function byKey(rows: readonly Row[]): ReadonlyMap<string | null, Row> {
  return new Map(rows.map((row) => [row[0] ?? null, row]));
}
