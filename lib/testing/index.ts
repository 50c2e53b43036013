export { attachLocks } from './attach-locks.js';
export type { ConformanceOptions } from './conformance/conformance-options.js';
export { describeLockDriver } from './driver-conformance.js';
export { describeLockService } from './service-conformance.js';
export type { TestApi, TestMatchers } from './test-api.js';
export { type DriverCall, type FailNextOptions, TestLockDriver } from './test-lock.driver.js';
