import {
  applyDecorators,
  type ArgumentsHost,
  BadRequestException,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Header,
  HttpCode,
  type INestApplication,
  Inject,
  Injectable,
  type NestInterceptor,
  Param,
  type PipeTransform,
  Post,
  SetMetadata,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import {
  ApiOperation,
  ApiResponse,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { currentLock, DistributedLockModule, WithLock } from 'nestjs-distributed-lock';
import { map, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { journal, JournalDriver, PlainTransaction } from './support/transactions.js';

@Injectable()
class RoleGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    journal.push(`guard for ${this.reflector.get<string>('role', context.getHandler())}`);
    return true;
  }
}

@Injectable()
class TrimPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    return value.trim();
  }
}

@Injectable()
class Shout implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => `${String(value)}!`));
  }
}

@Catch(BadRequestException)
class TeapotFilter implements ExceptionFilter {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(_: unknown, host: ArgumentsHost): void {
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), 'teapot', 418);
  }
}

type AnyDecorator = (target: any, name: any, descriptor: any) => any;
type Order = readonly AnyDecorator[];

/** All that a handler may have. */
const OTHERS: Order = [
  Post(':id'),
  HttpCode(202),
  Header('x-by', 'nest'),
  SetMetadata('role', 'cashier'),
  UseGuards(RoleGuard),
  UsePipes(TrimPipe),
  UseInterceptors(Shout),
  UseFilters(TeapotFilter),
  ApiOperation({ summary: 'Pays an order' }),
  ApiResponse({ status: 202, description: 'Paid' }),
];

const withLock: AnyDecorator = WithLock('order:<0>', { wait: 0 });
const orders = OTHERS.concat(withLock).map((_, position) => ({
  position,
  order: [...OTHERS.slice(0, position), withLock, ...OTHERS.slice(position)],
}));

/** A controller whose handler has these decorators, the first on top. */
function controllerOf(decorators: Order): Type {
  @Controller('orders')
  class OrdersController {
    async pay(@Param('id') id: string): Promise<string> {
      if (id === 'bad') {
        throw new BadRequestException();
      }
      return `${id} under ${currentLock()?.keys.join() ?? 'no lock'}`;
    }
  }
  decorate(OrdersController, 'pay', decorators);
  return OrdersController;
}

/** As the compiler does it: from the bottom upwards. */
function decorate(type: Type, name: string, decorators: Order): void {
  const target: object = type.prototype as object;
  const descriptor = Reflect.getOwnPropertyDescriptor(target, name) as PropertyDescriptor;
  const decorated = decorators.reduceRight(
    (current, decorator) => (decorator(target, name, current) ?? current) as PropertyDescriptor,
    descriptor,
  );
  Reflect.defineProperty(target, name, decorated);
}

function documentOf(app: INestApplication): OpenAPIObject {
  return SwaggerModule.createDocument(app, new DocumentBuilder().build());
}

type AnyMethod = (...args: unknown[]) => Promise<unknown>;
type MethodDescriptor = TypedPropertyDescriptor<AnyMethod>;

/** As many decorators in the wild: it keeps nothing of what it wraps. */
function wrap(_target: object, _name: string, descriptor: MethodDescriptor): void {
  const original = descriptor.value as AnyMethod;
  descriptor.value = async function (this: unknown, ...args) {
    journal.push('in');
    const result = await original.apply(this, args);
    journal.push('out');
    return result;
  };
}

/** As those that know of Nest: it keeps the metadata. */
function wrapAndKeep(target: object, name: string, descriptor: MethodDescriptor): void {
  const original = descriptor.value as AnyMethod;
  wrap(target, name, descriptor);
  for (const key of Reflect.getMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), descriptor.value as AnyMethod);
  }
}

function tag(_target: object, _name: string, { value }: MethodDescriptor): void {
  Object.assign(value as AnyMethod, { tag: 'mine' });
}

let app: INestApplication | undefined;

beforeEach(() => {
  journal.length = 0;
});

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(adapter: 'Express' | 'Fastify', controller: Type): Promise<INestApplication> {
  app = await serve(adapter, {
    imports: [DistributedLockModule.forRoot(new JournalDriver())],
    controllers: [controller],
  });
  return app;
}

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  describe.each(orders)('a handler with @WithLock at position $position', ({ order }) => {
    it.each([
      ['one by one', order],
      ['by applyDecorators', [applyDecorators(...order)]],
    ])('loses nothing that its decorators gave it, %s', async (_, decorators) => {
      const there = await start(adapter, controllerOf(decorators));
      const paid = await request(there, 'orders/%207%20', { method: 'POST' });
      expect(paid).toMatchObject({ status: 202, body: '7 under order:7!' });
      expect(paid.headers.get('x-by')).toBe('nest');
      expect(journal).toEqual(['guard for cashier', 'lock order:7', 'unlock order:7']);
      const refused = await request(there, 'orders/bad', { method: 'POST' });
      expect(refused).toMatchObject({ status: 418, body: 'teapot' });
      expect(documentOf(there).paths['/orders/{id}']?.post).toMatchObject({
        summary: 'Pays an order',
        responses: { '202': { description: 'Paid' } },
        parameters: [{ name: 'id', in: 'path' }],
      });
    });
  });

  it('a handler has the same OpenAPI document with @WithLock as without', async () => {
    const unlocked = documentOf(await start(adapter, controllerOf(OTHERS)));
    await app?.close();
    for (const { order } of orders) {
      const locked = documentOf(await start(adapter, controllerOf(order)));
      await app?.close();
      expect(locked).toEqual(unlocked);
    }
  });

  describe('a decorator that wraps the method', () => {
    const post = Post(':id');
    const transaction = UseInterceptors(PlainTransaction);

    it.each<[string, Order, string[]]>([
      [
        'stands inside the lock if it stands below',
        [post, transaction, withLock, wrap],
        ['lock order:7', 'in', 'out', 'commit', 'unlock order:7'],
      ],
      [
        'stands outside the lock if it stands above; it takes away that the lock stays until the commit',
        [post, transaction, wrap, withLock],
        ['in', 'lock order:7', 'unlock order:7', 'out', 'commit'],
      ],
      [
        'and keeps the metadata, above: the lock stays until the commit',
        [wrapAndKeep, withLock, post, transaction],
        ['in', 'lock order:7', 'out', 'commit', 'unlock order:7'],
      ],
      [
        'and keeps the metadata, below',
        [withLock, wrapAndKeep, post, transaction],
        ['lock order:7', 'in', 'out', 'commit', 'unlock order:7'],
      ],
      [
        'and keeps the metadata, above and below',
        [post, wrapAndKeep, withLock, wrapAndKeep, transaction],
        ['in', 'lock order:7', 'in', 'out', 'out', 'commit', 'unlock order:7'],
      ],
    ])('%s', async (_, decorators, expected) => {
      const there = await start(adapter, controllerOf(decorators));
      const paid = await request(there, 'orders/7', { method: 'POST' });
      expect(paid).toMatchObject({ status: 201, body: '7 under order:7' });
      expect(journal).toEqual(expected);
    });
  });
});

describe('a locked method', () => {
  it('keeps its name, its length and its own properties', () => {
    const { pay } = controllerOf([withLock, tag]).prototype as { pay: AnyMethod };
    expect(pay).toHaveProperty('name', 'pay');
    expect(pay).toHaveProperty('length', 1);
    expect(pay).toHaveProperty('tag', 'mine');
  });
});
