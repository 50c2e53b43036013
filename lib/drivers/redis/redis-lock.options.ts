import { badOption, unknownOption } from '../../options/option-error.js';
import {
  duration,
  mergeOptions,
  number,
  type OptionParsers,
} from '../../options/option-parsers.js';
import type { Duration } from '../../interfaces/lock-options.interface.js';
import { isRedisClient, portOf, type RedisLockClient } from './redis-client.js';
import type { RedisPort } from './redis-port.js';
import type { ReplicaSettings } from './replicated-runner.js';

/** Options of a `RedisLockDriver`. */
export interface RedisLockDriverOptions {
  /** Your own client. It is never closed, never made to listen, and its options are not changed. */
  readonly client: RedisLockClient;
  /**
   * Put before every key. In a cluster a hash tag in it, `{lock}:`, puts all locks on one node.
   * @default 'lock:'
   */
  readonly prefix?: string;
  /**
   * How long a lock that is free is remembered, so that its fencing tokens go on increasing if the server's clock is set back
   * by less than this.
   * @default '60s'
   */
  readonly retention?: Duration;
  /**
   * Grants and renewals count only when replicas have them too.
   * @default none
   */
  readonly replicas?: RedisReplicasOptions;
  /**
   * How long to wait for an answer to `connect`, `inspect`, `list`, `forceRelease` and `admitToken`.
   * @default '10s'
   */
  readonly answerTimeout?: Duration;
}

/** How many replicas must have a lock. */
export interface RedisReplicasOptions {
  /** At least so many. */
  readonly min: number;
  /**
   * How long to wait for them; less than half of the shortest ttl.
   * @default '500ms'
   */
  readonly timeout?: Duration;
}

/** The options with what was not given filled in. */
export interface RedisLockSettings {
  readonly port: RedisPort;
  readonly prefix: string;
  readonly retention: number;
  readonly replicas: ReplicaSettings | undefined;
  readonly answerTimeout: number;
}

const positive = duration({
  min: 1,
  allowed: "a duration of at least 1 ms: milliseconds, or a string such as '30s'",
});

const REPLICAS: OptionParsers<ReplicaSettings> = {
  min: number('a whole number of at least 1', (value) => Number.isInteger(value) && value >= 1),
  timeout: positive,
};

const PARSERS: OptionParsers<Omit<RedisLockSettings, 'port'>> = {
  prefix: (value, name) => {
    if (typeof value !== 'string' || value === '') {
      throw badOption(name, value, 'a string that is not empty');
    }
    return value;
  },
  retention: positive,
  replicas: (value, name) =>
    mergeOptions({ min: 0, timeout: 500 }, requireMin(value, name), REPLICAS, `${name}.`),
  answerTimeout: positive,
};

/** Checks what was given: a client, or options with one. */
export function resolveOptions(given: unknown): RedisLockSettings {
  const options: { readonly client?: unknown } = isOptions(given) ? given : { client: given };
  const { client, ...others } = options;
  const unknown = Object.keys(others).find((name) => !Object.hasOwn(PARSERS, name));
  if (unknown !== undefined) {
    throw unknownOption(unknown, ['client', ...Object.keys(PARSERS)]);
  }
  const defaults = {
    prefix: 'lock:',
    retention: 60_000,
    replicas: undefined,
    answerTimeout: 10_000,
  };
  const port = portOf(client);
  const settings = mergeOptions<Omit<RedisLockSettings, 'port'>>(defaults, others, PARSERS);
  if (settings.replicas !== undefined && port.isCluster) {
    throw badOption(
      'replicas',
      settings.replicas,
      'left out with a cluster: it is not supported there',
    );
  }
  return { port, ...settings };
}

/** Whatever else is given is meant to be a client, be it one or not. */
function isOptions(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isRedisClient(value)) {
    return false;
  }
  return 'client' in value || [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

function requireMin(value: unknown, name: string): unknown {
  if (typeof value === 'object' && value !== null && Reflect.get(value, 'min') === undefined) {
    throw badOption(`${name}.min`, undefined, 'a whole number of at least 1');
  }
  return value;
}
