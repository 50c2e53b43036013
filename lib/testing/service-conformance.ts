import type { ConformanceOptions } from './conformance/conformance-options.js';
import { declareSuite, type Topics } from './conformance/declare-suite.js';
import { describeContention } from './conformance/service-contention.js';
import { describeElection } from './conformance/service-leader.js';
import { ServiceFixture } from './conformance/service-fixture.js';
import { describeWaiting } from './conformance/service-waiting.js';
import type { TestApi } from './test-api.js';

const TOPICS: Topics<ServiceFixture> = {
  waiting: describeWaiting,
  contention: describeContention,
  'leader election': describeElection,
};

/** Declares the tests that `LockService` has to pass on a driver, as two processes that share its store. */
export function describeLockService(test: TestApi, options: ConformanceOptions): void {
  declareSuite(test, `the lock service on ${options.name}`, new ServiceFixture(options), TOPICS);
}
