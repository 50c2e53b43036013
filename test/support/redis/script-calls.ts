import { type Scripts, scriptsFor } from '../../../lib/drivers/redis/scripts.js';
import type { ProxiedCommand } from './proxied-command.js';

const ALL: readonly Scripts[] = (['PUBLISH', 'SPUBLISH'] as const).map((publish) =>
  scriptsFor({ retention: 60_000, publish, knowsFlags: true }),
);

/** Finds the calls of one of the driver's scripts, by digest or by source, among the commands that pass a proxy. */
export function callOf(name: keyof Scripts): (command: ProxiedCommand) => boolean {
  const known = new Set(ALL.flatMap(({ [name]: { digest, source } }) => [digest, source]));
  return ({ name: command, args }) =>
    (command === 'EVALSHA' || command === 'EVAL') && known.has(args[0] as string);
}
