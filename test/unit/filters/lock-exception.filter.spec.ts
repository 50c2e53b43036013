import { type ArgumentsHost, Logger } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { LockExceptionFilter } from '../../../lib/filters/lock-exception.filter.js';
import { inTransportForm } from '../../../lib/filters/transport-form.js';
import { methodOf } from '../decorators/support.js';
import { hostOf, HttpResponse } from './hosts.js';

const busy = (): LockTimeoutError => new LockTimeoutError({ keys: ['secret'], waited: 0 });

/** What the filter asks of Nest's HTTP adapter. */
class Adapter {
  readonly answers: unknown[] = [];

  isHeadersSent(): boolean {
    return false;
  }

  reply(_response: unknown, body: unknown, status: number): void {
    this.answers.push([status, body]);
  }

  end(): void {
    this.answers.push('end');
  }
}

let adapter: Adapter;
let filter: LockExceptionFilter;

beforeEach(() => {
  adapter = new Adapter();
  filter = new LockExceptionFilter(adapter as never);
});

/** Hands the error to the filter, as Nest does. */
const handle = (error: unknown, host: ArgumentsHost): unknown =>
  Reflect.apply(methodOf(LockExceptionFilter, 'catch'), filter, [error, host]);

const ANSWER = [
  423,
  { statusCode: 423, code: 'LOCK_TIMEOUT', message: 'The resource is busy, try again later' },
];

describe('the filter', () => {
  it('answers an HTTP caller, with Retry-After', () => {
    const response = new HttpResponse();
    handle(busy(), hostOf('http', response));
    expect(adapter.answers).toEqual([ANSWER]);
    expect(response.headers).toEqual({ 'Retry-After': '1' });
  });

  it('answers with the form that an interceptor has found already', async () => {
    const form = await inTransportForm(busy(), hostOf('http'));
    handle(form, hostOf('http'));
    expect(adapter.answers).toEqual([ANSWER]);
  });

  it('answers by the status of the error', () => {
    handle(new LockDriverError('secret is down'), hostOf('http'));
    expect(adapter.answers).toMatchObject([[503, { code: 'LOCK_DRIVER' }]]);
    expect(JSON.stringify(adapter.answers)).not.toContain('secret');
  });
});

describe('the filter, where a hybrid application has it for other transports too,', () => {
  it.each(['rpc', 'graphql'])(
    'leaves %s to Nest, which falls back to its own',
    async (transport) => {
      const host = hostOf(transport);
      const form = await inTransportForm(busy(), host);
      expect(handle(form, host)).toBeUndefined();
      expect(adapter.answers).toEqual([]);
    },
  );

  it('answers a WebSocket, which Nest does not do after a filter', async () => {
    const client = { emit: vi.fn<(event: string, body: unknown) => void>() };
    const host = new ExecutionContextHost([client, {}, 'pay']);
    host.setType('ws');
    const form = await inTransportForm(busy(), host);
    await handle(form, host);
    await vi.waitFor(() => expect(client.emit).toHaveBeenCalled());
    expect(client.emit).toHaveBeenCalledExactlyOnceWith('exception', ANSWER[1]);
  });

  it('logs what goes wrong while it answers a WebSocket, and goes on', async () => {
    const log = vi.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const failure = new Error('gone');
    const emit = (): never => {
      throw failure;
    };
    const host = new ExecutionContextHost([{ emit }, {}, 'pay']);
    host.setType('ws');
    handle(busy(), host);
    await vi.waitFor(() => expect(log).toHaveBeenCalledExactlyOnceWith(failure));
    log.mockRestore();
  });
});
