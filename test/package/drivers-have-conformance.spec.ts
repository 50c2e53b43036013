import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const drivers = readdirSync(new URL('../../lib/drivers', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const specOf = (driver: string): URL =>
  new URL(`../conformance/${driver}.conformance.spec.ts`, import.meta.url);

describe('every driver', () => {
  it('is found', () => {
    expect(drivers).toContain('memory');
  });

  it.each(drivers)('has a conformance spec that runs both suites: %s', (driver) => {
    const spec = specOf(driver);
    expect(existsSync(spec)).toBe(true);
    const source = readFileSync(spec, 'utf8');
    expect(source).toMatch(/\bdescribeLockDriver\(/);
    expect(source).toMatch(/\bdescribeLockService\(/);
  });
});
