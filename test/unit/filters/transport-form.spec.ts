import { HttpException } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { EventPattern, MessagePattern, RpcException } from '@nestjs/microservices';
import { WsException } from '@nestjs/websockets';
import { describe, expect, it } from 'vitest';
import { FencingTokenError } from '../../../lib/errors/fencing-token.error.js';
import { LockAbortedError } from '../../../lib/errors/lock-aborted.error.js';
import { LockClosedError } from '../../../lib/errors/lock-closed.error.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDeadlockError } from '../../../lib/errors/lock-deadlock.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { LockQueueFullError } from '../../../lib/errors/lock-queue-full.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { LockError } from '../../../lib/errors/lock.error.js';
import { StaleFencingTokenError } from '../../../lib/errors/stale-fencing-token.error.js';
import {
  inHttpForm,
  inTransportForm,
  isInTransportForm,
} from '../../../lib/filters/transport-form.js';
import { hostOf, HttpResponse } from './hosts.js';

const KEYS = ['secret:7', 'secret:8'];

const busy = (retryAfter?: number): LockTimeoutError =>
  new LockTimeoutError({ keys: KEYS, owner: 'pod-7:41#x', waited: 5000, retryAfter });

const TRANSPORTS = ['http', 'rpc', 'ws', 'graphql'];

/** What an outside caller gets to see of it. */
function shownBy(exception: Error): unknown {
  if (exception instanceof HttpException) {
    const { extensions } = exception as { extensions?: unknown };
    return [exception.getStatus(), exception.getResponse(), extensions];
  }
  return (exception as RpcException | WsException).getError();
}

describe('a lock error', () => {
  const body = {
    statusCode: 423,
    code: 'LOCK_TIMEOUT',
    message: 'The resource is busy, try again later',
  };

  it('is an HttpException for HTTP', async () => {
    const exception = await inTransportForm(busy(), hostOf('http'));
    expect(exception).toBeInstanceOf(HttpException);
    expect(shownBy(exception)).toEqual([423, body, undefined]);
  });

  it('is an RpcException for RPC', async () => {
    const exception = await inTransportForm(busy(), hostOf('rpc'));
    expect(exception).toBeInstanceOf(RpcException);
    expect(shownBy(exception)).toEqual(body);
  });

  it('is a WsException for WebSockets', async () => {
    const exception = await inTransportForm(busy(), hostOf('ws'));
    expect(exception).toBeInstanceOf(WsException);
    expect(shownBy(exception)).toEqual(body);
  });

  it('has extensions for GraphQL', async () => {
    const exception = await inTransportForm(busy(), hostOf('graphql'));
    expect(exception).toBeInstanceOf(HttpException);
    expect(exception.message).toBe(body.message);
    expect(shownBy(exception)).toEqual([
      423,
      body.message,
      { code: 'LOCK_TIMEOUT', statusCode: 423 },
    ]);
  });

  it('stays what it is for an event, whose sender waits for no answer', async () => {
    class Events {
      @EventPattern('paid')
      paid(_data: unknown): void {}

      @MessagePattern('pay')
      pay(_data: unknown): void {}
    }
    const error = busy();
    const context = (name: string): ExecutionContextHost => {
      const handler = Reflect.get(Events.prototype, name) as () => void;
      const host = new ExecutionContextHost([], Events, handler);
      host.setType('rpc');
      return host;
    };
    await expect(inTransportForm(error, context('paid'))).resolves.toBe(error);
    await expect(inTransportForm(error, context('pay'))).resolves.toBeInstanceOf(RpcException);
  });

  it.each<[string, LockError, number, string]>([
    ['LockTimeoutError', busy(), 423, 'LOCK_TIMEOUT'],
    ['LockLostError', new LockLostError({ keys: KEYS, reason: 'expired' }), 500, 'LOCK_LOST'],
    ['LockAbortedError', new LockAbortedError('secret:7', { keys: KEYS }), 499, 'LOCK_ABORTED'],
    ['LockDriverError', new LockDriverError('secret:7', { keys: KEYS }), 503, 'LOCK_DRIVER'],
    ['LockKeyError', new LockKeyError('secret:7'), 400, 'LOCK_KEY'],
    [
      'LockQueueFullError',
      new LockQueueFullError('secret:7', { keys: KEYS }),
      503,
      'LOCK_QUEUE_FULL',
    ],
    ['LockClosedError', new LockClosedError('secret:7', { keys: KEYS }), 503, 'LOCK_CLOSED'],
    [
      'StaleFencingTokenError',
      new StaleFencingTokenError({ resource: 'secret:7', token: 7n, rule: 'older', newest: 8 }),
      409,
      'STALE_FENCING_TOKEN',
    ],
    ['FencingTokenError', new FencingTokenError('secret:7'), 400, 'FENCING_TOKEN'],
    ['LockConfigError', new LockConfigError('secret:7'), 500, 'LOCK_CONFIG'],
    ['LockDeadlockError', new LockDeadlockError('secret:7', { keys: KEYS }), 500, 'LOCK_DEADLOCK'],
  ])(
    '%s tells its status and code, and neither its keys nor its message',
    async (_, error, statusCode, code) => {
      for (const transport of TRANSPORTS) {
        const exception = await inTransportForm(error, hostOf(transport));
        const shown = JSON.stringify([shownBy(exception), exception.message]);
        expect(shown).toContain(`"code":"${code}"`);
        expect(shown).toContain(`"statusCode":${statusCode}`);
        expect(shown).not.toContain('secret');
        expect(shown).not.toContain('pod-7');
      }
    },
  );

  it.each(TRANSPORTS)('gives a filter all that it knows, over %s', async (transport) => {
    const exception = await inTransportForm(busy(1500), hostOf(transport));
    expect(exception).toMatchObject({
      keys: KEYS,
      key: 'secret:7',
      code: 'LOCK_TIMEOUT',
      statusCode: 423,
      owner: 'pod-7:41#x',
      waited: 5000,
      retryAfter: 1500,
    });
  });

  it.each(['http', 'graphql'])('is the cause of its form, over %s', async (transport) => {
    const error = busy();
    expect((await inTransportForm(error, hostOf(transport))).cause).toBe(error);
  });
});

describe('the form of an error', () => {
  it.each(TRANSPORTS)('counts as the error it stands for, over %s', async (transport) => {
    const exception = await inTransportForm(busy(), hostOf(transport));
    expect(exception instanceof LockTimeoutError).toBe(true);
    expect(exception instanceof LockError).toBe(true);
    expect(exception instanceof LockDriverError).toBe(false);
    expect(isInTransportForm(exception)).toBe(true);
  });

  it('still counts as what it is', async () => {
    const http = await inTransportForm(busy(), hostOf('http'));
    expect([http instanceof HttpException, http instanceof RpcException]).toEqual([true, false]);
    const rpc = await inTransportForm(busy(), hostOf('rpc'));
    expect([rpc instanceof HttpException, rpc instanceof RpcException]).toEqual([false, true]);
  });

  it('is the only exception that does', () => {
    const plain = new HttpException('busy', 423);
    expect(plain instanceof LockError).toBe(false);
    expect(plain instanceof LockTimeoutError).toBe(false);
    expect(isInTransportForm(plain)).toBe(false);
    expect(isInTransportForm(busy())).toBe(false);
  });

  it.each([undefined, null, 5, 'text', Symbol('s'), {}, Object.create(null), () => undefined])(
    'is not taken for a lock error: %o',
    (value: unknown) => {
      expect(value instanceof LockError).toBe(false);
      expect(value instanceof LockTimeoutError).toBe(false);
    },
  );

  it('leaves the classes of errors as they are', () => {
    class OwnError extends LockTimeoutError {}
    const own = new OwnError({ keys: KEYS, waited: 0 });
    expect(own instanceof OwnError).toBe(true);
    expect(own instanceof LockTimeoutError).toBe(true);
    expect(busy() instanceof OwnError).toBe(false);
    expect(busy() instanceof Error).toBe(true);
  });
});

describe('Retry-After', () => {
  it.each([
    [undefined, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [29_500, '30'],
  ])('is in seconds, at least one: %s ms give %s', (retryAfter, seconds) => {
    const response = new HttpResponse();
    inHttpForm(busy(retryAfter), hostOf('http', response));
    expect(response.headers).toEqual({ 'Retry-After': seconds });
  });

  it.each<[string, LockError, object]>([
    ['a backend that is down', new LockDriverError('down'), { 'Retry-After': '1' }],
    ['a line that is full', new LockQueueFullError('full'), { 'Retry-After': '1' }],
    ['a server that shuts down', new LockClosedError('closed'), { 'Retry-After': '1' }],
    ['a lost lock', new LockLostError({ keys: KEYS, reason: 'expired' }), {}],
    ['a key that is missing', new LockKeyError('no key'), {}],
    ['a mistake', new LockConfigError('wrong'), {}],
  ])('is set where it makes sense to try again: %s', (_, error, headers) => {
    const response = new HttpResponse();
    inHttpForm(error, hostOf('http', response));
    expect(response.headers).toEqual(headers);
  });

  it.each([
    ['Express has', { headersSent: true }],
    ["Fastify's raw response has", { raw: { headersSent: true } }],
  ])('is not set once %s sent the headers', (_, sent) => {
    const response = Object.assign(new HttpResponse(), sent);
    inHttpForm(busy(), hostOf('http', response));
    expect(response.headers).toEqual({});
  });

  it('is no matter for a response that has no such method', () => {
    expect(() => inHttpForm(busy(), hostOf('http', {}))).not.toThrow();
  });

  it.each(['rpc', 'ws', 'graphql'])('is not set over %s', async (transport) => {
    const response = new HttpResponse();
    await inTransportForm(busy(), hostOf(transport, response));
    expect(response.headers).toEqual({});
  });
});
