import { LockDriverError } from '../../errors/lock-driver.error.js';

/** The oldest version with all that is used. */
const OLDEST = [6, 2] as const;
/** From here on scripts may say what they need. */
const WITH_SCRIPT_FLAGS = 7;

/** What is known of the servers. */
export interface ServerFacts {
  /** Whether scripts may have flags, and a cluster has channels of its shards. */
  readonly isModern: boolean;
  /** What the operator should know. */
  readonly warnings: readonly string[];
}

/** Looks at `INFO` of all primaries; throws if one of them cannot keep locks. */
export function checkServers(infos: readonly string[]): ServerFacts {
  const servers = infos.map(parseInfo);
  const majors = servers.map((server) => {
    const [major = 0, minor = 0] = versionOf(server);
    refuseIf(
      major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]),
      `The server is Redis ${server.get('redis_version')}; locks need ${OLDEST.join('.')} or later`,
    );
    refuseIf(
      server.get('role') === 'slave',
      `The server is a replica, of ${server.get('master_host')}:${server.get('master_port')}, and takes no writes: give the ` +
        `driver a client of the primary, or one that asks Sentinel for it`,
    );
    return major;
  });
  return {
    isModern: majors.every((major) => major >= WITH_SCRIPT_FLAGS),
    warnings: [...new Set(servers.flatMap(evictionWarning))],
  };
}

function evictionWarning(server: ReadonlyMap<string, string>): string[] {
  const policy = server.get('maxmemory_policy') ?? 'noeviction';
  return policy === 'noeviction'
    ? []
    : [
        `Redis may evict locks while they are held, and then two hold the same one: its maxmemory-policy is ${policy}. ` +
          `Set it to noeviction, or give locks a server of their own.`,
      ];
}

function versionOf(server: ReadonlyMap<string, string>): number[] {
  return (server.get('redis_version') ?? '').split('.').map(Number);
}

function parseInfo(info: string): ReadonlyMap<string, string> {
  const lines = info.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}

function refuseIf(condition: boolean, message: string): void {
  if (condition) {
    throw new LockDriverError(message);
  }
}
