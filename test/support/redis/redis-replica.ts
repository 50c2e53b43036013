import { eventually } from './eventually.js';
import { RedisServer, type RedisServerOptions } from './redis-server.js';

/** Where a replica finds its primary; a proxy in between can stop the stream of changes. */
export interface ReplicaOptions extends RedisServerOptions {
  readonly via?: { readonly host: string; readonly port: number };
}

/** A replica that has all that the primary had when it was started, and follows it. */
export async function startReplica(
  program: string,
  primary: RedisServer,
  { via = primary, args = [], ...options }: ReplicaOptions = {},
): Promise<RedisServer> {
  const follow = ['--replicaof', via.host, `${via.port}`];
  const replica = await RedisServer.start(program, { ...options, args: [...follow, ...args] });
  try {
    await untilLinked(primary, replica);
  } catch (error) {
    await replica.stop();
    throw error;
  }
  return replica;
}

/** Resolves when both ends say that changes flow from one to the other. */
export async function untilLinked(primary: RedisServer, replica: RedisServer): Promise<void> {
  await eventually('the replica follows its primary', async () => {
    const [sends, receives] = await Promise.all([
      primary.info('replication'),
      replica.info('replication'),
    ]);
    return (
      receives.get('master_link_status') === 'up' &&
      [...sends.values()].some((line) => line.includes(`port=${replica.port},state=online`))
    );
  });
}

/** Resolves when the replica has all that the primary has now. */
export async function untilReplicated(primary: RedisServer, replica: RedisServer): Promise<void> {
  const offset = Number((await primary.info('replication')).get('master_repl_offset'));
  await eventually('the replica has all changes', async () => {
    const info = await replica.info('replication');
    return Number(info.get('slave_repl_offset')) >= offset;
  });
}

/** Lets a replica follow no more: it stays read-only, with what it has. */
export async function detach(replica: RedisServer): Promise<void> {
  // Nobody listens to this port.
  await replica.command('REPLICAOF', '127.0.0.1', 1);
  await eventually('the link is down', async () => {
    return (await replica.info('replication')).get('master_link_status') === 'down';
  });
}

/** Makes a primary of a replica, with what it has. */
export async function promote(replica: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', 'NO', 'ONE');
  await eventually('the replica is a primary', () => isPrimary(replica));
}

/** What the server itself says. */
export async function isPrimary(server: RedisServer): Promise<boolean> {
  return (await server.info('replication')).get('role') === 'master';
}
