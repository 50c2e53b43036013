import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  Controller,
  Get,
  HttpException,
  type INestApplication,
  Logger,
  Next,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { DistributedLockModule, LockService, WithLock } from 'nestjs-distributed-lock';
import { filter, firstValueFrom, Observable, of } from 'rxjs';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { Inbox } from '../../support/inbox.js';
import { GatedDriver } from './support/gated.driver.js';

/** A response of Express, or the reply of Fastify around it. */
type Response = ServerResponse & { readonly raw?: ServerResponse };

/** What the handlers have begun to send. */
const sending = new Inbox<PassThrough>();
const responses = new Inbox<ServerResponse>();

function newStream(): PassThrough {
  const stream = new PassThrough();
  stream.write('begin,');
  sending.add(stream);
  return stream;
}

function keep(response: Response): ServerResponse {
  const raw = response.raw ?? response;
  responses.add(raw);
  return raw;
}

@Controller()
class StreamingController {
  @Get('file')
  @WithLock('key')
  async file(): Promise<StreamableFile> {
    return new StreamableFile(newStream());
  }

  @Get('observed-file')
  @WithLock('key')
  observedFile(): Observable<StreamableFile> {
    return of(new StreamableFile(newStream()));
  }

  @Get('response')
  @WithLock('key')
  async response(@Res() response: Response): Promise<void> {
    keep(response).write('begin,');
  }

  @Get('observed-response')
  @WithLock('key')
  observedResponse(@Res() response: Response): Observable<void> {
    keep(response).write('begin,');
    return of(undefined);
  }

  @Get('next')
  @WithLock('key')
  async next(@Res() response: Response, @Next() _next: () => void): Promise<void> {
    keep(response).write('begin,');
  }

  @Get('piped')
  @WithLock('key')
  async piped(@Res() response: Response): Promise<void> {
    newStream().pipe(response.raw ?? response);
  }

  @Get('ended')
  @WithLock('key')
  async ended(@Res() response: Response): Promise<void> {
    (response.raw ?? response).end('all at once');
  }

  @Get('thrown')
  @WithLock('key')
  async thrown(@Res() _response: Response): Promise<void> {
    throw new HttpException('not today', 418);
  }

  @Get('passthrough')
  @WithLock('key')
  async passthrough(@Res({ passthrough: true }) _response: Response): Promise<string> {
    return 'sent by Nest';
  }

  @Get('ping')
  ping(): string {
    return 'pong';
  }

  @Get('iterable')
  @WithLock('key')
  async iterable(): Promise<AsyncIterable<Buffer>> {
    const stream = newStream();
    return (async function* () {
      yield* stream as AsyncIterable<Buffer>;
    })();
  }
}

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  let driver: GatedDriver;
  let app: INestApplication;

  beforeEach(async () => {
    driver = new GatedDriver();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    app = await serve(adapter, {
      imports: [DistributedLockModule.forRoot(driver)],
      controllers: [StreamingController],
    });
  });

  afterEach(async () => {
    await app.close();
    vi.restoreAllMocks();
  });

  const isHeld = (): boolean => driver.inspect('key') !== null;

  const event = (type: 'released' | 'waiting'): Promise<unknown> =>
    firstValueFrom(app.get(LockService).events$.pipe(filter((seen) => seen.type === type)));

  async function open(path: string): Promise<IncomingMessage> {
    const url = await app.getUrl();
    return new Promise((resolve, reject) => {
      get(`${url}/${path}`, { agent: false }, resolve).on('error', reject);
    });
  }

  const STREAMS = ['file', 'observed-file', 'piped', ...(inject('nest') > 11 ? ['iterable'] : [])];

  describe.each(STREAMS)('a handler that sends a stream, by %s', (path) => {
    it('keeps its lock until all of it is sent', async () => {
      const response = await open(path);
      const stream = await sending.next();
      const waits = event('waiting');
      const second = open(path);
      await waits;
      expect(isHeld()).toBe(true);
      stream.end('end');
      expect(await text(response)).toBe('begin,end');
      const next = await sending.next();
      const released = event('released');
      next.end('end');
      expect(await text(await second)).toBe('begin,end');
      await released;
      expect(isHeld()).toBe(false);
    });

    it('gives its lock back when the client leaves', async () => {
      const response = await open(path);
      const stream = await sending.next();
      const released = event('released');
      expect(isHeld()).toBe(true);
      response.destroy();
      await released;
      stream.destroy();
      expect(isHeld()).toBe(false);
    });

    it('gives its lock back when the stream fails', async () => {
      const response = await open(path);
      response.on('error', () => undefined).resume();
      const stream = await sending.next();
      const released = event('released');
      stream.on('error', () => response.destroy());
      stream.destroy(new Error('disk on fire'));
      await released;
      expect(isHeld()).toBe(false);
    });
  });

  describe.each(['response', 'observed-response', 'next'])(
    'a handler that answers by itself, with @Res(), by %s',
    (path) => {
      it('keeps its lock until it has answered', async () => {
        const answer = open(path);
        const response = await responses.next();
        expect((await answer).statusCode).toBe(200);
        expect(isHeld()).toBe(true);
        const released = event('released');
        response.end('end');
        expect(await text(await answer)).toBe('begin,end');
        await released;
        expect(isHeld()).toBe(false);
      });

      it('gives its lock back when the client leaves', async () => {
        const answer = await open(path);
        const released = event('released');
        await responses.next();
        answer.destroy();
        await released;
        expect(isHeld()).toBe(false);
      });
    },
  );

  it('a handler that has answered by itself when it returns keeps no lock', async () => {
    const released = event('released');
    expect((await request(app, 'ended')).body).toBe('all at once');
    await released;
    expect(isHeld()).toBe(false);
  });

  it('a handler with @Res() that throws keeps no lock', async () => {
    expect((await request(app, 'thrown')).status).toBe(418);
    expect(isHeld()).toBe(false);
  });

  it('a handler with @Res({ passthrough: true }) is answered when the lock is back, like any other', async () => {
    driver.isShut = true;
    const answered = vi.fn<() => void>();
    const answer = request(app, 'passthrough').finally(answered);
    const gate = await driver.asked.next();
    await request(app, 'ping');
    expect(answered).not.toHaveBeenCalled();
    gate.resolve();
    expect((await answer).body).toBe('sent by Nest');
    expect(isHeld()).toBe(false);
  });
});
