import type { ScriptCall } from '../../../../lib/drivers/redis/redis-port.js';
import { type Scripts, scriptsFor } from '../../../../lib/drivers/redis/scripts.js';

export const RETENTION = 60_000;

/** What a server of version 7 says of itself. */
export const INFO = [
  '# Server',
  'redis_version:7.0.15',
  'redis_mode:standalone',
  '',
  '# Memory',
  'maxmemory_policy:noeviction',
  '# Replication',
  'role:master',
  '',
].join('\r\n');

/** A script of the driver, or the one that asks for what the client puts before keys. */
export type ScriptName = keyof Scripts | 'prefix';

type Answers = Record<ScriptName, (call: ScriptCall) => unknown>;

const NAMES = new Map<string, ScriptName>([['return KEYS[1]', 'prefix']]);
for (const publish of ['PUBLISH', 'SPUBLISH'] as const) {
  for (const knowsFlags of [true, false]) {
    const scripts = scriptsFor({ retention: RETENTION, publish, knowsFlags });
    for (const name of Object.keys(scripts) as (keyof Scripts)[]) {
      NAMES.set(scripts[name].digest, name).set(scripts[name].source, name);
    }
  }
}

/** The name of the script that a call runs. */
export function nameOf({ script }: ScriptCall): ScriptName {
  const name = NAMES.get(script);
  if (name === undefined) {
    throw new Error(`ERR unknown script: ${script}`);
  }
  return name;
}

/** A server that answers scripts as the test wants, and by default as if all were well. */
export class FakeServer {
  readonly calls: ScriptCall[] = [];
  /** What the client puts before every key. */
  keyPrefix = '';
  info: () => unknown = () => INFO;
  /** What a scan finds, page by page. */
  pages: readonly (readonly string[])[] = [];
  readonly answers: Answers = {
    prefix: ({ keys }) => this.keyPrefix + keys[0],
    rehearse: () => [],
    acquire: ({ keys }) => keys.flatMap(() => [1000, 1]),
    renew: () => [],
    release: ({ keys }) => keys.flatMap(() => [0, 0]),
    inspect: ({ keys }) => keys.flatMap((key) => [500, 1000, `owner of ${key}`]),
    forceRelease: () => 1,
    admit: () => ['', 1],
  };

  async run(call: ScriptCall): Promise<unknown> {
    this.calls.push(call);
    return this.answers[nameOf(call)](call);
  }

  /** The calls of one script. */
  callsOf(name: ScriptName): ScriptCall[] {
    return this.calls.filter((call) => nameOf(call) === name);
  }
}

/** Never answers. */
export const silence = (): Promise<never> => new Promise(() => undefined);
