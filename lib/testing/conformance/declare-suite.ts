import type { TestApi } from '../test-api.js';
import type { DriverFixture } from './driver-fixture.js';

/** The tests of a suite by topic. */
export type Topics<F> = Readonly<Record<string, (test: TestApi, fixture: F) => void>>;

/** Declares a suite whose topics share one fixture. */
export function declareSuite<F extends DriverFixture>(
  test: TestApi,
  title: string,
  fixture: F,
  topics: Topics<F>,
): void {
  const { timeout } = fixture;
  const patient: TestApi = { ...test, it: (name, body) => test.it(name, body, timeout) };

  test.describe(title, () => {
    test.beforeAll(() => fixture.start(), timeout);
    test.afterAll(() => fixture.stop(), timeout);
    for (const [topic, declare] of Object.entries(topics)) {
      test.describe(topic, () => declare(patient, fixture));
    }
  });
}
