import type { Unsubscribe } from '../interfaces/lock-driver.interface.js';

interface Subscription {
  readonly listener: () => void;
}

/** Who wants to be told of which key's release. */
export class ReleaseNotices {
  readonly #subscriptions = new Map<string, Set<Subscription>>();

  /** How many keys somebody listens to. */
  get size(): number {
    return this.#subscriptions.size;
  }

  subscribe(key: string, listener: () => void): Unsubscribe {
    const subscription = { listener };
    const others = this.#subscriptions.get(key);
    if (others === undefined) {
      this.#subscriptions.set(key, new Set([subscription]));
    } else {
      others.add(subscription);
    }
    return () => this.#unsubscribe(key, subscription);
  }

  tell(key: string): void {
    const subscriptions = this.#subscriptions.get(key);
    if (subscriptions === undefined) {
      return;
    }
    // Listeners come and go while they are told: newcomers are not, and who has left is not either.
    const present = [...subscriptions];
    for (const subscription of present) {
      if (subscriptions.has(subscription)) {
        callSafely(subscription.listener);
      }
    }
  }

  /** For when releases may have gone unheard: tells everybody who listens now. */
  tellAll(): void {
    // A listener that subscribes anew must not be told for ever.
    Array.from(this.#subscriptions.keys()).forEach((key) => this.tell(key));
  }

  #unsubscribe(key: string, subscription: Subscription): void {
    const subscriptions = this.#subscriptions.get(key);
    if (subscriptions?.delete(subscription) && subscriptions.size === 0) {
      this.#subscriptions.delete(key);
    }
  }
}

/** The lock is free whatever a listener does, and the other listeners must hear of it. */
function callSafely(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}
