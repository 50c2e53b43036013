import { LockConfigError } from './errors/lock-config.error.js';
import { LockDriverError } from './errors/lock-driver.error.js';
import type { LockError } from './errors/lock.error.js';
import type { LockDriver } from './interfaces/lock-driver.interface.js';

/** Who uses a driver now; it may serve several instances, and the last one closes it. */
const usersOf = new WeakMap<LockDriver, Set<DriverConnection>>();

/** One service's use of its driver, from boot to shutdown. */
export class DriverConnection {
  private opening: Promise<readonly string[]> | undefined;
  private closing: Promise<void> | undefined;

  constructor(private readonly driver: LockDriver) {}

  /** Connects the driver, once, and gives its warnings; if that fails it is closed again. */
  open(): Promise<readonly string[]> {
    return (this.opening ??= this.connect());
  }

  /** Closes the driver unless somebody else uses it, once. */
  close(): Promise<void> {
    return (this.closing ??= this.disconnect());
  }

  private async connect(): Promise<readonly string[]> {
    this.users.add(this);
    try {
      return (await this.driver.connect?.()) ?? [];
    } catch (cause) {
      await (this.closing = this.leave().catch(() => undefined));
      throw connectError(this.driver, cause);
    }
  }

  private async disconnect(): Promise<void> {
    await this.opening?.catch(() => undefined);
    await this.leave();
  }

  private async leave(): Promise<void> {
    this.users.delete(this);
    if (this.users.size === 0) {
      await this.driver.close?.();
    }
  }

  private get users(): Set<DriverConnection> {
    let users = usersOf.get(this.driver);
    if (users === undefined) {
      usersOf.set(this.driver, (users = new Set()));
    }
    return users;
  }
}

function connectError(driver: LockDriver, cause: unknown): LockError {
  if (cause instanceof LockConfigError) {
    return cause;
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LockDriverError(
    `The lock driver \`${driver.name}\` could not connect: ${reason}. Check that its backend is reachable from here and ` +
      `that the client may use it`,
    { cause },
  );
}
