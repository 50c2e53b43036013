import { expect } from 'vitest';
import type { TestApi } from '../../../lib/testing/test-api.js';

type Body = () => Promise<void>;

/** A test runner of few lines: it runs the tests of a suite side by side and gives the names of those that failed. */
export async function failuresOf(declare: (test: TestApi) => void): Promise<string[]> {
  const before: Body[] = [];
  const after: Body[] = [];
  const tests: { readonly name: string; readonly body: Body }[] = [];
  const path: string[] = [];
  declare({
    expect,
    describe: (name, body) => {
      path.push(name);
      body();
      path.pop();
    },
    it: (name, body) => tests.push({ name: [...path.slice(1), name].join(' > '), body }),
    beforeAll: (body) => before.push(body),
    afterAll: (body) => after.push(body),
  });

  await Promise.all(before.map((body) => body()));
  const outcomes = await Promise.allSettled(tests.map(({ body }) => body()));
  await Promise.allSettled(after.map((body) => body()));
  return tests.map(({ name }) => name).filter((_, index) => outcomes[index]?.status === 'rejected');
}
