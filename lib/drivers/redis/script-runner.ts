import { codeOf, explain } from './explain-error.js';
import type { RedisPort } from './redis-port.js';
import type { Script } from './scripts.js';

/** Runs scripts; what goes wrong comes as a rejection with a `LockDriverError`. */
export interface ScriptRunner {
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/** Runs scripts on the user's own client. */
export class ClientRunner implements ScriptRunner {
  readonly #port: RedisPort;

  constructor(port: RedisPort) {
    this.#port = port;
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return orBySource(
      () => this.#port.evalsha(script.digest, keys, args),
      () => this.#port.eval(script.source, keys, args),
    );
  }
}

/** A server that was started anew, or that a slot has moved to, does not know the digest of a script yet. */
export function orBySource<T>(byDigest: () => Promise<T>, bySource: () => Promise<T>): Promise<T> {
  return begin(byDigest).then(undefined, (error: unknown) => {
    if (codeOf(error) !== 'NOSCRIPT') {
      throw explain(error);
    }
    return begin(bySource).catch((failure: unknown) => {
      throw explain(failure);
    });
  });
}

/** A client may also throw. */
function begin<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}
