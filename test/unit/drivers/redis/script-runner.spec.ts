import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import type { ScriptCall } from '../../../../lib/drivers/redis/redis-port.js';
import { ClientRunner } from '../../../../lib/drivers/redis/script-runner.js';
import { scriptsFor } from '../../../../lib/drivers/redis/scripts.js';
import { FakePort } from './fake-port.js';
import { RETENTION } from './fake-server.js';

const NOSCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';
const { acquire } = scriptsFor({ retention: RETENTION, publish: 'PUBLISH', knowsFlags: true });

/** A runner, and a server that answers the calls by digest and by source as given. */
function runner(answers: Record<ScriptCall['by'], () => unknown>): [ClientRunner, FakePort] {
  const port = new FakePort();
  port.server.answers.acquire = ({ by }) => answers[by]();
  return [new ClientRunner(port), port];
}

const fails = (message: string) => (): never => {
  throw new Error(message);
};

describe('a script', () => {
  it('is run by its digest', async () => {
    const [scripts, port] = runner({ evalsha: () => [1], eval: fails('not needed') });
    await expect(scripts.run(acquire, ['k'], ['a', 'b'])).resolves.toEqual([1]);
    expect(port.server.calls).toEqual([
      { by: 'evalsha', script: acquire.digest, keys: ['k'], args: ['a', 'b'] },
    ]);
  });

  it('is sent along once where the server does not know it', async () => {
    const [scripts, port] = runner({ evalsha: fails(NOSCRIPT), eval: () => [1] });
    await expect(scripts.run(acquire, ['k'], ['a'])).resolves.toEqual([1]);
    expect(port.server.calls).toEqual([
      { by: 'evalsha', script: acquire.digest, keys: ['k'], args: ['a'] },
      { by: 'eval', script: acquire.source, keys: ['k'], args: ['a'] },
    ]);
  });

  it('is not sent a third time, whatever the server says', async () => {
    const [scripts, port] = runner({ evalsha: fails(NOSCRIPT), eval: fails(NOSCRIPT) });
    await expect(scripts.run(acquire, ['k'], [])).rejects.toThrow(LockDriverError);
    expect(port.server.calls).toHaveLength(2);
  });

  it.each(['Connection is closed.', 'LOADING Redis is loading', 'ERR unknown'])(
    'is not sent again after another error: %s',
    async (message) => {
      const [scripts, port] = runner({ evalsha: fails(message), eval: () => [1] });
      await expect(scripts.run(acquire, ['k'], [])).rejects.toThrow(message);
      expect(port.server.calls).toHaveLength(1);
    },
  );

  it('fails with an error that says what to do, by digest and by source', async () => {
    const bad = fails('OOM command not allowed');
    const [byDigest] = runner({ evalsha: bad, eval: bad });
    const [bySource] = runner({ evalsha: fails(NOSCRIPT), eval: bad });
    for (const scripts of [byDigest, bySource]) {
      const error: unknown = await scripts.run(acquire, ['k'], []).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(LockDriverError);
      expect(error).toMatchObject({
        message: expect.stringContaining('maxmemory'),
        cause: { message: 'OOM command not allowed' },
      });
    }
  });

  it('fails by a rejection also where the client throws', async () => {
    const port = new FakePort();
    port.evalsha = fails('closed');
    await expect(new ClientRunner(port).run(acquire, ['k'], [])).rejects.toThrow(LockDriverError);
    port.evalsha = fails(NOSCRIPT);
    port.eval = fails('closed');
    await expect(new ClientRunner(port).run(acquire, ['k'], [])).rejects.toThrow('closed');
  });
});
