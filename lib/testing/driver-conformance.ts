import { describeAdministration } from './conformance/administration.js';
import type { ConformanceOptions } from './conformance/conformance-options.js';
import { declareSuite, type Topics } from './conformance/declare-suite.js';
import { DriverFixture } from './conformance/driver-fixture.js';
import { describeExclusion } from './conformance/exclusion.js';
import { describeExpiry } from './conformance/expiry.js';
import { describeGate } from './conformance/gate.js';
import { describeKeys } from './conformance/keys.js';
import { describeLifecycle } from './conformance/lifecycle.js';
import { describeNotices } from './conformance/notices.js';
import { describeRelease } from './conformance/release.js';
import { describeRenewal } from './conformance/renewal.js';
import { describeResending } from './conformance/resending.js';
import { describeTokens } from './conformance/tokens.js';
import { describeWanted } from './conformance/wanted.js';
import type { TestApi } from './test-api.js';

const TOPICS: Topics<DriverFixture> = {
  exclusion: describeExclusion,
  expiry: describeExpiry,
  renewal: describeRenewal,
  release: describeRelease,
  resending: describeResending,
  'the wanted mark': describeWanted,
  'fencing tokens': describeTokens,
  keys: describeKeys,
  'notices of release': describeNotices,
  'the fencing gate': describeGate,
  administration: describeAdministration,
  lifecycle: describeLifecycle,
};

/** Declares the tests that every `LockDriver` has to pass; they run in real time, by the store's clock, on keys of their own. */
export function describeLockDriver(test: TestApi, options: ConformanceOptions): void {
  declareSuite(test, `the ${options.name} driver`, new DriverFixture(options), TOPICS);
}
