export { currentLock } from './core/frames.js';
export { InjectLeaderElection } from './decorators/inject-leader-election.decorator.js';
export { InjectLockService } from './decorators/inject-lock-service.decorator.js';
export { LeaderOnly } from './decorators/leader-only.decorator.js';
export { OnDeposed } from './decorators/on-deposed.decorator.js';
export { OnElected } from './decorators/on-elected.decorator.js';
export { WithLock } from './decorators/with-lock.decorator.js';
export { DistributedLockModule } from './distributed-lock.module.js';
export {
  MemoryLockDriver,
  type MemoryLockDriverOptions,
} from './drivers/memory/memory-lock.driver.js';
export { FencingTokenError } from './errors/fencing-token.error.js';
export { LockAbortedError } from './errors/lock-aborted.error.js';
export { LockClosedError } from './errors/lock-closed.error.js';
export { LockConfigError } from './errors/lock-config.error.js';
export { LockDeadlockError } from './errors/lock-deadlock.error.js';
export { LockDriverError } from './errors/lock-driver.error.js';
export { LockKeyError } from './errors/lock-key.error.js';
export {
  LockLostError,
  type LockLostDetails,
  type LockLostReason,
} from './errors/lock-lost.error.js';
export { LockQueueFullError } from './errors/lock-queue-full.error.js';
export { LockTimeoutError, type LockTimeoutDetails } from './errors/lock-timeout.error.js';
export { LockError, type LockErrorDetails } from './errors/lock.error.js';
export {
  StaleFencingTokenError,
  type StaleFencingTokenDetails,
} from './errors/stale-fencing-token.error.js';
export type { FencedResource } from './fencing/fenced.accessor.js';
export { Fenced, type FencedOptions } from './fencing/fenced.decorator.js';
export { FencingGate } from './fencing/fencing-gate.js';
export { getFencingGateToken } from './fencing/fencing-gate.token.js';
export { fencingHeaders, type FencingHeaders } from './fencing/fencing-headers.js';
export { FencingToken } from './fencing/fencing-token.decorator.js';
export { FencingTokenGuard } from './fencing/fencing-token.guard.js';
export { FENCING_TOKEN_HEADER } from './fencing/fencing-token.header.js';
export { InjectFencingGate } from './fencing/inject-fencing-gate.decorator.js';
export { LockExceptionFilter } from './filters/lock-exception.filter.js';
export { LockInterceptor } from './interceptors/lock.interceptor.js';
export type * from './interfaces/distributed-lock-module-options.interface.js';
export type * from './interfaces/fencing.interface.js';
export type * from './interfaces/leader-election.interface.js';
export type * from './interfaces/lock-driver.interface.js';
export type * from './interfaces/lock-event.interface.js';
export type * from './interfaces/lock-handle.interface.js';
export type * from './interfaces/lock-options.interface.js';
export type * from './interfaces/with-lock-options.interface.js';
export { lockKey, type LockKeyValue } from './key/lock-key.js';
export { currentTerm } from './leader/current-term.js';
export { LeaderElection } from './leader/leader-election.js';
export { getLeaderElectionToken } from './leader/leader-election.token.js';
export { getLockServiceToken } from './lock-service.token.js';
export { LockService, type LockKeys, type LockWork } from './lock.service.js';
