import type { RedisServer } from './redis-server.js';

/** One client, as the server sees it. */
export type ConnectedClient = ReadonlyMap<string, string>;

/** Who is connected to a server, without the connection that asks. */
export async function connectedClients(server: RedisServer): Promise<readonly ConnectedClient[]> {
  const lines = String(await server.command('CLIENT', 'LIST'))
    .trim()
    .split('\n');
  const clients = lines.map(
    (line) => new Map(line.split(' ').map((field) => field.split('=') as [string, string])),
  );
  return clients.filter((client) => client.get('cmd') !== 'client|list');
}

/** How many of them listen to a channel. */
export async function listenersOf(server: RedisServer): Promise<number> {
  const clients = await connectedClients(server);
  return clients.filter((client) => client.get('sub') !== '0' || isSharded(client)).length;
}

function isSharded(client: ConnectedClient): boolean {
  return Number(client.get('ssub') ?? 0) > 0;
}
