import { readFileSync } from 'node:fs';
import type { OpenClient } from './client-library.js';

const page = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8');

/** The commands of the page that give rights: for all, and beyond that for a cluster. */
const [forAll = '', forCluster = ''] = page
  .split('\n')
  .filter((line) => line.startsWith('redis-cli ACL SETUSER locks'));

/** The user that the page tells how to make. */
export const documentedUser = { username: 'locks', password: 'secret' };

/** Makes the user of docs/redis.md, with the rights that stand there and no others. */
export async function grantDocumentedRights(
  admin: OpenClient<unknown>,
  where: 'standalone' | 'cluster',
): Promise<void> {
  const lines = where === 'cluster' ? [forAll, forCluster] : [forAll];
  for (const line of lines) {
    const [, ...args] = line.split(/\s+/).map((arg) => arg.replaceAll("'", ''));
    const [command = '', ...rest] = args;
    await admin.command(command, ...rest);
  }
}
