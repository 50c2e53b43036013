import type { LockDriver } from '../../lib/interfaces/lock-driver.interface.js';

type Method = (...args: unknown[]) => unknown;

/** Counts what is asked of a driver for the sake of getting a lock, and what it tells by notices. */
export class CallCounts {
  asked = 0;
  answered = 0;
  told = 0;

  /** The same driver, watched. */
  watch(driver: LockDriver): LockDriver {
    return new Proxy(driver, {
      // Each time anew: whether there are notices may change.
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? this.#counted(name, value.bind(target)) : value;
      },
    });
  }

  #counted(name: string | symbol, method: Method): Method {
    switch (name) {
      case 'acquire':
        return async (...args) => {
          this.asked++;
          try {
            return await method(...args);
          } finally {
            this.answered++;
          }
        };
      case 'onReleased':
        return (key, listener) =>
          method(key, () => {
            this.told++;
            (listener as () => void)();
          });
      default:
        return method;
    }
  }
}
