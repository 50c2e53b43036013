import { freePort, PostgresServer } from '../../test/support/postgres/postgres-server.js';
import type { Options } from './options.js';
import { RedisServer } from './redis-server.js';
import type { StoreAddress } from './store.js';

/** Where the locks and the ticks are kept, for as long as the sample runs. */
export interface Backend extends AsyncDisposable {
  readonly address: StoreAddress;
}

/** That of `--url`, which is left as it is; else a server that goes with us. */
export async function startBackend({ driver, url }: Options): Promise<Backend> {
  if (url !== undefined) {
    return { address: { driver, url }, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const server =
    driver === 'redis'
      ? await RedisServer.start(await freePort())
      : await PostgresServer.start({ detached: true });
  return {
    address: { driver, url: server.url() },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
