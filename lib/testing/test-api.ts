/** The matchers that the suites use: those that vitest and jest share. */
export interface TestMatchers {
  readonly not: Omit<TestMatchers, 'not'>;
  toBe(expected: unknown): unknown;
  toEqual(expected: unknown): unknown;
  toBeNull(): unknown;
  toBeUndefined(): unknown;
  toBeGreaterThan(bound: number): unknown;
  toBeGreaterThanOrEqual(bound: number): unknown;
  toBeLessThanOrEqual(bound: number): unknown;
  toHaveLength(length: number): unknown;
}

/** What the suites need of a test runner; all of `vitest` or `@jest/globals` will do. */
export interface TestApi {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>, timeout?: number) => unknown;
  readonly beforeAll: (body: () => Promise<void>, timeout?: number) => unknown;
  readonly afterAll: (body: () => Promise<void>, timeout?: number) => unknown;
  readonly expect: (actual: unknown) => TestMatchers;
}
