import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ReplicatedRunner } from '../../../../lib/drivers/redis/replicated-runner.js';
import { scriptsFor } from '../../../../lib/drivers/redis/scripts.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { type FakeConnection, FakePort } from './fake-port.js';
import { RETENTION } from './fake-server.js';
import { microtasks } from './microtasks.js';

const { acquire } = scriptsFor({ retention: RETENTION, publish: 'PUBLISH', knowsFlags: true });

/** For the connection to be there. */
const PATIENCE = 700;

function scene(min = 1): { port: FakePort; runner: ReplicatedRunner } {
  const port = new FakePort();
  return { port, runner: new ReplicatedRunner(port, { min, timeout: 500 }, PATIENCE) };
}

describe('a script that replicas have to confirm', () => {
  it('is run by its digest on a connection of its own, and waited for', async () => {
    const { port, runner } = scene(2);
    port.open = async (connection) => {
      connection.answer = () => Promise.resolve({ reply: ['granted'], replicas: 2 });
      return connection;
    };
    await expect(runner.run(acquire, ['k'], ['a'])).resolves.toEqual(['granted']);
    expect(port.connections[0]!.calls).toEqual([
      {
        call: { by: 'evalsha', script: acquire.digest, keys: ['k'], args: ['a'] },
        replicas: 2,
        timeout: 500,
      },
    ]);
    expect(port.server.calls).toEqual([]);
  });

  it.each([0, 1])('is an error where %i of 2 have', async (replicas) => {
    const { port, runner } = scene(2);
    port.open = async (connection) => {
      connection.answer = () => Promise.resolve({ reply: ['granted'], replicas });
      return connection;
    };
    const error: unknown = await runner.run(acquire, ['k'], []).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^\d of the 2 replicas.*500 ms/),
    });
  });

  it('is answered where more have than must', async () => {
    const { port, runner } = scene(1);
    port.open = async (connection) => {
      connection.answer = () => Promise.resolve({ reply: 'granted', replicas: 3 });
      return connection;
    };
    await expect(runner.run(acquire, ['k'], [])).resolves.toBe('granted');
  });

  it('is sent along where the server does not know it, and waited for again', async () => {
    const { port, runner } = scene();
    port.open = async (connection) => {
      connection.answer = ({ by }) =>
        by === 'eval'
          ? Promise.resolve({ reply: 'granted', replicas: 1 })
          : Promise.reject(new Error('NOSCRIPT No matching script.'));
      return connection;
    };
    await expect(runner.run(acquire, ['k'], ['a'])).resolves.toBe('granted');
    expect(port.connections[0]!.calls.map(({ call, replicas }) => [call, replicas])).toEqual([
      [{ by: 'evalsha', script: acquire.digest, keys: ['k'], args: ['a'] }, 1],
      [{ by: 'eval', script: acquire.source, keys: ['k'], args: ['a'] }, 1],
    ]);
  });

  it('is not sent again where the connection was lost, and the error is explained', async () => {
    const { port, runner } = scene();
    const lost = new Error('The connection was lost');
    port.open = async (connection) => {
      connection.answer = () => Promise.reject(lost);
      return connection;
    };
    const error: unknown = await runner.run(acquire, ['k'], []).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error).toMatchObject({ cause: lost });
    expect(port.connections[0]!.calls).toHaveLength(1);
  });
});

describe('the connection for such scripts', () => {
  it('is opened once for many, and used again', async () => {
    const { port, runner } = scene();
    await Promise.all([runner.run(acquire, ['a'], []), runner.run(acquire, ['b'], [])]);
    await runner.run(acquire, ['c'], []);
    expect(port.connections).toHaveLength(1);
    expect(port.connections[0]!.calls).toHaveLength(3);
  });

  it('may take so long to be there, and no longer', async () => {
    const { port, runner } = scene();
    await runner.connect();
    expect(port.patience).toBe(PATIENCE);
  });

  it('is replaced when it is over', async () => {
    const { port, runner } = scene();
    await runner.run(acquire, ['a'], []);
    port.connections[0]!.isOver = true;
    await runner.run(acquire, ['b'], []);
    expect(port.connections.map(({ calls }) => calls.length)).toEqual([1, 1]);
  });

  it('is replaced by one, not by several, when many find out at the same time that it is over', async () => {
    const { port, runner } = scene();
    await runner.connect();
    port.connections[0]!.isOver = true;
    await Promise.all(['a', 'b', 'c'].map((key) => runner.run(acquire, [key], [])));
    expect(port.connections.map(({ calls }) => calls.length)).toEqual([0, 3]);
  });

  it('is tried again after it could not be opened, and the error is explained', async () => {
    const { port, runner } = scene();
    const open = port.open;
    port.open = () => Promise.reject(new Error('NOAUTH Authentication required.'));
    const error: unknown = await runner.run(acquire, ['k'], []).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error).toMatchObject({ message: expect.stringContaining('password') });
    port.open = open;
    await runner.run(acquire, ['k'], []);
    expect(port.connections).toHaveLength(2);
  });

  it('fails all who wait for it, and is tried once for those after them', async () => {
    const { port, runner } = scene();
    const opening = new Deferred<FakeConnection>();
    port.open = () => opening.promise;
    const outcomes = ['a', 'b'].map((key) => watch(runner.run(acquire, [key], [])));
    opening.reject(new Error('refused'));
    await microtasks();
    expect(outcomes.map(({ error }) => error?.message)).toEqual(['refused', 'refused']);
    port.open = (connection) => Promise.resolve(connection);
    await Promise.all(['c', 'd'].map((key) => runner.run(acquire, [key], [])));
    expect(port.connections).toHaveLength(2);
  });

  it('is closed with its runner', async () => {
    const { port, runner } = scene();
    await runner.connect();
    await runner.close();
    expect(port.connections[0]!.closed).toBe(1);
  });

  it('is closed as soon as it is open, where it was being opened', async () => {
    const { port, runner } = scene();
    const opening = new Deferred();
    port.open = async (connection) => {
      await opening.promise;
      return connection;
    };
    const running = watch(runner.run(acquire, ['k'], []));
    const closing = watch(runner.close());
    await microtasks();
    opening.resolve();
    await microtasks();
    expect(closing.settled).toBe(true);
    expect(port.connections.map(({ closed }) => closed)).toEqual([1]);
    expect(running.settled).toBe(true);
  });

  it('is not opened anew after its runner was closed', async () => {
    const { port, runner } = scene();
    await runner.connect();
    await runner.close();
    port.connections[0]!.isOver = true;
    port.connections[0]!.answer = () => Promise.reject(new Error('Connection is closed.'));
    await expect(runner.run(acquire, ['k'], [])).rejects.toThrow('Connection is closed.');
    expect(port.connections).toHaveLength(1);
  });

  it('is not opened for the first time after its runner was closed', async () => {
    const { port, runner } = scene();
    await runner.close();
    await expect(runner.run(acquire, ['k'], [])).rejects.toThrow(LockDriverError);
    expect(port.connections).toEqual([]);
  });

  it('may never have been opened, or not have come to be, when its runner is closed', async () => {
    const unused = scene();
    await unused.runner.close();
    expect(unused.port.connections).toEqual([]);

    const refused = scene();
    refused.port.open = () => Promise.reject(new Error('refused'));
    const running = watch(refused.runner.run(acquire, ['k'], []));
    await refused.runner.close();
    await microtasks();
    expect(running.error?.message).toBe('refused');
  });
});

describe('the rehearsal of such scripts', () => {
  it('opens the connection and waits for no replica, on no key', async () => {
    const { port, runner } = scene(2);
    port.open = async (connection) => {
      connection.answer = () => Promise.resolve({ reply: 1, replicas: 0 });
      return connection;
    };
    await runner.rehearse();
    expect(port.connections[0]!.calls).toEqual([
      {
        call: expect.objectContaining({ by: 'eval', keys: [], args: [] }),
        replicas: 0,
        timeout: 1,
      },
    ]);
    await runner.run(acquire, ['k'], []).catch(() => undefined);
    expect(port.connections).toHaveLength(1);
  });

  it('says which right is missing, and leaves no connection open', async () => {
    const { port, runner } = scene();
    port.open = async (connection) => {
      connection.answer = () => Promise.reject(new Error("NOPERM no permissions to run 'wait'"));
      return connection;
    };
    const outcome = watch(runner.rehearse());
    await microtasks();
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('docs/redis.md');
    expect(port.connections[0]!.closed).toBe(1);
  });

  it('fails where the connection cannot be opened', async () => {
    const { port, runner } = scene();
    port.open = () => Promise.reject(new Error('WRONGPASS'));
    await expect(runner.rehearse()).rejects.toThrow('password');
  });
});
