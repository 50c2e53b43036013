import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that kernels give to outgoing connections: one of those, a client's that looks for a server which is
// down, say, could else sit on the port when the server comes back.
const LOWEST = 12_000;
const HIGHEST = 32_000;

const TRIES = 5;

/** Begins anew on another port if somebody else was quicker. */
export async function onFreePort<T>(use: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await use(await freePort());
    } catch (error) {
      if (tries === TRIES || !/address already in use/i.test(String(error))) {
        throw error;
      }
    }
  }
}

/** A port of this machine that nobody listens to. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) {
      return port;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
