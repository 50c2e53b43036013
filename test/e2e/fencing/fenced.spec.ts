import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  type INestApplication,
  Injectable,
  Logger,
  Module,
  type ModuleMetadata,
  Post,
  UseGuards,
} from '@nestjs/common';
import { type ClientProxy, MessagePattern } from '@nestjs/microservices';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  Fenced,
  FENCING_TOKEN_HEADER,
  FencingGate,
  FencingToken,
  FencingTokenGuard,
  getFencingGateToken,
  InjectFencingGate,
  lockKey,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { lastValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  HTTP_ADAPTER_NAMES,
  type HttpAdapterName,
  type HttpAnswer,
  request,
  serve,
} from '../../support/http.js';
import { connectTcp, listen, TCP_OPTIONS } from '../../support/transports.js';

let driver: TestLockDriver;
const opened: { close(): Promise<void> }[] = [];
const logged = vi.fn<(message: unknown) => void>();

beforeEach(() => {
  driver = new TestLockDriver();
  logged.mockClear();
  vi.spyOn(Logger.prototype, 'error').mockImplementation(logged);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((app) => app.close()));
});

/** An application that is closed after the test. */
async function open(adapter: HttpAdapterName, of: ModuleMetadata): Promise<INestApplication> {
  const app = await serve(adapter, of);
  opened.push(app);
  return app;
}

@Injectable()
class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException('Nobody may');
  }
}

const idOf = (context: ExecutionContext): string =>
  context.switchToHttp().getRequest<{ params: { id: string } }>().params.id;

@Controller()
@Fenced('all')
class FencedController {
  @Post('class')
  onClass(): string {
    return 'written';
  }

  @Post('method/:id')
  @Fenced((context) => lockKey`order:${idOf(context)}`)
  onMethod(@FencingToken() token: bigint): string {
    return `${typeof token} ${token}`;
  }
}

@Controller()
class OtherController {
  @Post('billing')
  @Fenced('bills', { service: 'billing' })
  billed(): string {
    return 'billed';
  }

  @Post('unknown')
  @Fenced('bills', { service: 'unknown' })
  unknown(): void {}

  @Post('bare')
  @UseGuards(FencingTokenGuard)
  bare(): void {}

  @Post('behind')
  @Fenced('private')
  @UseGuards(NobodyGuard)
  behind(): void {}

  @Post('before')
  @UseGuards(NobodyGuard)
  @Fenced('private')
  @UseGuards(FencingTokenGuard)
  before(): void {}

  @Get('read')
  read(@FencingToken() token: bigint): string {
    return String(token);
  }
}

/** Where the guards are made, there is no gate. */
@Module({ controllers: [OtherController] })
class OtherModule {}

const metadata = (options: Partial<DistributedLockModuleOptions> = {}): ModuleMetadata => ({
  imports: [
    DistributedLockModule.forRoot({ driver, ...options }),
    DistributedLockModule.forRoot({ driver, name: 'billing', namespace: 'billing' }),
    OtherModule,
  ],
  controllers: [FencedController],
});

const newest = (): bigint => BigInt(Date.now()) * 1000n;
const SECOND = 1_000_000n;

const headersOf = (token?: bigint | string): Record<string, string> =>
  token === undefined ? {} : { [FENCING_TOKEN_HEADER]: String(token) };

const post = (app: INestApplication, path: string, token?: bigint | string): Promise<HttpAnswer> =>
  request(app, path, { method: 'POST', headers: headersOf(token) });

/** The resources that were asked for at the gate. */
const asked = (): unknown[] =>
  driver.calls.flatMap((call) => (call.operation === 'admitToken' ? [call.request.resource] : []));

describe.each(HTTP_ADAPTER_NAMES)('a fenced handler on %s', (adapter) => {
  it('lets newer tokens through, each asked for once, and refuses an older one', async () => {
    const token = newest();
    const app = await open(adapter, metadata());
    expect(await post(app, 'class', token)).toMatchObject({ status: 201, body: 'written' });
    expect(await post(app, 'class', token)).toMatchObject({ status: 201 });
    expect(asked()).toEqual(['all', 'all']);
    expect(await post(app, 'class', token - SECOND)).toMatchObject({
      status: 409,
      body: {
        statusCode: 409,
        code: 'STALE_FENCING_TOKEN',
        message: 'A newer holder of the resource has been here',
      },
    });
  });

  it('asks for what the method says, instead of the class, and hands the token over', async () => {
    const token = newest();
    const app = await open(adapter, metadata());
    expect(await post(app, 'method/7', token)).toMatchObject({ body: `bigint ${token}` });
    expect(await post(app, 'method/8', token - SECOND)).toMatchObject({ status: 201 });
    expect(await post(app, 'method/7', token - SECOND)).toMatchObject({ status: 409 });
    expect(asked()).toEqual(['order:7', 'order:8', 'order:7']);
  });

  it.each([undefined, 'abc', '0'])('answers 400 for the token %s', async (token) => {
    const app = await open(adapter, metadata());
    const body = {
      statusCode: 400,
      code: 'FENCING_TOKEN',
      message: 'The request has no valid fencing token',
    };
    expect(await post(app, 'class', token)).toMatchObject({ status: 400, body });
    expect(asked()).toEqual([]);
    expect(await request(app, 'read', { headers: headersOf(token) })).toMatchObject({
      status: 400,
      body,
    });
  });

  it('stands where it is bound among other guards', async () => {
    const app = await open(adapter, metadata());
    expect(await post(app, 'behind', newest())).toMatchObject({ status: 403 });
    expect(asked()).toEqual([]);
    expect(await post(app, 'before', newest())).toMatchObject({ status: 403 });
    expect(asked()).toEqual(['private']);
  });

  it('asks the gate of the named instance, from a module that imports none', async () => {
    const app = await open(adapter, metadata());
    expect(await post(app, 'billing', newest())).toMatchObject({ body: 'billed' });
    expect(asked()).toEqual(['billing:bills']);
  });

  it('says in the log what is to be added where no resource or no gate is known', async () => {
    const app = await open(adapter, metadata());
    for (const path of ['bare', 'unknown']) {
      expect(await post(app, path, newest())).toMatchObject({
        status: 500,
        body: { code: 'LOCK_CONFIG' },
      });
    }
    expect(logged.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/stands before OtherController\.bare.*add @Fenced\(resource\)/),
      expect.stringMatching(
        /import DistributedLockModule\.forRoot\(\.\.\.\), with the name "unknown"/,
      ),
    ]);
  });

  it('answers 503 when the backend fails, and as `mapErrors` says where it says so', async () => {
    driver.failNext(1, { on: 'admitToken' });
    const app = await open(adapter, metadata());
    const answer = await post(app, 'class', newest());
    expect(answer).toMatchObject({ status: 503, body: { code: 'LOCK_DRIVER' } });
    expect(answer.headers.get('retry-after')).toBe('1');

    const mapping = await open(
      adapter,
      metadata({ mapErrors: () => new ForbiddenException('mine') }),
    );
    await post(mapping, 'class', newest());
    expect(await post(mapping, 'class', newest() - SECOND)).toMatchObject({ status: 403 });
  });
});

@Controller()
class MessagesController {
  @MessagePattern('write')
  @Fenced('messages')
  write(): string {
    return 'written';
  }
}

describe('a fenced handler of messages', () => {
  it('reads the token from the message, and answers as RPC does', async () => {
    const app = await listen(TCP_OPTIONS, {
      imports: [DistributedLockModule.forRoot(driver)],
      controllers: [MessagesController],
    });
    opened.push(app);
    const client: ClientProxy = await connectTcp(app);
    const send = (fencingToken?: unknown): Promise<unknown> =>
      lastValueFrom(client.send('write', { fencingToken })).catch((error: unknown) => error);
    const token = newest();
    expect(await send(String(token))).toBe('written');
    expect(await send(Number(token - SECOND))).toMatchObject({
      statusCode: 409,
      code: 'STALE_FENCING_TOKEN',
    });
    expect(await send()).toMatchObject({ statusCode: 400, code: 'FENCING_TOKEN' });
    client.close();
  });
});

describe('the gate', () => {
  it('is injected by its class or by a name, and found by its token', async () => {
    @Injectable()
    class Writer {
      constructor(
        @InjectFencingGate() readonly gate: FencingGate,
        @InjectFencingGate('billing') readonly billing: FencingGate,
      ) {}
    }
    const { imports } = metadata();
    const app = await open('Express', { imports, providers: [Writer] });
    const { gate, billing } = app.get(Writer);
    expect(gate).toBe(app.get(FencingGate));
    expect(billing).toBe(app.get(getFencingGateToken('billing')));
    await gate.admit('orders', newest());
    await billing.admit('orders', newest());
    expect(asked()).toEqual(['orders', 'billing:orders']);
  });

  it('is refused where @Fenced names nothing', () => {
    expect(() => Fenced('')).toThrow(/@Fenced needs a resource/);
    expect(() => Fenced(undefined as never)).toThrow(/and not undefined/);
    expect(() => Fenced('a', { service: '' })).toThrow(/`service`/);
  });
});
