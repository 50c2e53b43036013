import { type Observable, ReplaySubject } from 'rxjs';
import type { LockEngine } from './core/lock-engine.js';
import { DriverConnection } from './driver-connection.js';
import type { LockDriver } from './interfaces/lock-driver.interface.js';
import type { LockLogger } from './lock.logger.js';
import type { ResolvedServiceOptions } from './options/resolve-service-options.js';

/** The longest delay that Node's timers take. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** Boot and shutdown of one service. What fails at shutdown is logged: the rest of it goes on. */
export class LockServiceLifecycle {
  private readonly connection: DriverConnection;
  private readonly ended = new ReplaySubject<void>(1);
  private overdue: NodeJS.Timeout | undefined;

  constructor(
    private readonly engine: LockEngine,
    private readonly options: ResolvedServiceOptions,
    private readonly logger: LockLogger,
  ) {
    this.connection = new DriverConnection(options.driver);
  }

  /** Emits when nothing more will happen, to those who come later too. */
  get ended$(): Observable<void> {
    return this.ended;
  }

  /** Connects the driver, and logs what it warns of. */
  async boot(): Promise<void> {
    const warnings = await this.connection.open();
    warnings.forEach((warning) => this.logger.warning(warning));
    if (process.env['NODE_ENV'] === 'production' && isMemoryForMany(this.options.driver)) {
      this.logger.memoryInProduction();
    }
  }

  /** Waits for what is held now, at most for `drainTimeout`. */
  async drain(): Promise<void> {
    const { drainTimeout } = this.options;
    // Next Nest closes its server, which waits for the handlers: one that outstays its time must be told before that.
    this.overdue ??= setTimeout(
      () => void this.halt(),
      Math.min(drainTimeout, MAX_TIMEOUT),
    ).unref();
    await this.quietly('Draining', () => this.engine.drain(drainTimeout));
  }

  /** Stops the engine, then closes the driver; both take a second call for the first. */
  async end(): Promise<void> {
    clearTimeout(this.overdue);
    await this.halt();
    this.ended.next();
    await this.quietly('Closing the driver', () => this.connection.close());
  }

  private halt(): Promise<void> {
    return this.quietly('Stopping', () => this.engine.stop());
  }

  private async quietly(step: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.logger.shutdownFailed(step, error);
    }
  }
}

/** Whether this is the memory driver and nobody has said that there is one process only. */
function isMemoryForMany(driver: LockDriver & { readonly singleProcess?: boolean }): boolean {
  return driver.name === 'memory' && driver.singleProcess !== true;
}
