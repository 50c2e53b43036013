import {
  Controller,
  Get,
  type INestApplicationContext,
  Injectable,
  Logger,
  type OnModuleInit,
  Scope,
  type Type,
} from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  type DeposedChange,
  DistributedLockModule,
  getLeaderElectionToken,
  InjectLeaderElection,
  LeaderElection,
  LeaderOnly,
  type Leadership,
  type LeaderTerm,
  LockConfigError,
  LockService,
  MemoryLockDriver,
  OnDeposed,
  OnElected,
} from 'nestjs-distributed-lock';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { Deferred } from '../../support/deferred.js';
import { boot } from '../module/support.js';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { replica, untilLeader } from './support.js';

let driver: MemoryLockDriver;
let app: INestApplicationContext | undefined;
let error: MockInstance<Logger['error']>;

beforeEach(() => {
  vi.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
  vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  driver = new MemoryLockDriver();
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  vi.restoreAllMocks();
});

const heldKeys = (): string[] => driver.list().map(({ key }) => key);

describe('an application is refused', () => {
  @Injectable()
  class Impatient {
    @LeaderOnly('jobs', { ttl: '10s', tokenPeriod: '6s' })
    async run(): Promise<void> {}
  }
  @Injectable()
  class Breathless {
    @OnElected('jobs', { ttl: '10s', heartbeat: '5s' })
    async run(): Promise<void> {}
  }
  @Injectable()
  class Sound {
    @LeaderOnly('a sound one')
    async run(): Promise<void> {}
  }
  @Injectable()
  class Slow {
    @LeaderOnly('jobs', { ttl: '10s' })
    async run(): Promise<void> {}
  }
  @Injectable()
  class Slower {
    @OnDeposed('jobs', { ttl: '20s' })
    async run(): Promise<void> {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class OfARequest {
    @OnElected('jobs')
    async run(): Promise<void> {}
  }
  @Injectable({ scope: Scope.TRANSIENT })
  class OfAConsumer {
    @OnDeposed('jobs')
    async run(): Promise<void> {}
  }
  @Injectable()
  class Consumer {
    constructor(readonly own: OfAConsumer) {}
  }

  it.each<[string, readonly Type[], RegExp]>([
    [
      'a token rises too seldom',
      [Sound, Impatient],
      /`ttl` is 10 s; .* twice `tokenPeriod`, which is 6 s/,
    ],
    [
      'no heartbeat may be missed',
      [Sound, Breathless],
      /`ttl` is 10 s; .* `heartbeat`, which is 5 s/,
    ],
    [
      'two methods do not agree',
      [Sound, Slow, Slower],
      /Slow\.run and @OnDeposed of Slower\.run .* another ttl/,
    ],
    [
      'there is no object to call',
      [Sound, OfARequest],
      /@OnElected of OfARequest\.run: its object is made for each request/,
    ],
    [
      'there are many objects to call',
      [Sound, OfAConsumer, Consumer],
      /@OnDeposed of OfAConsumer\.run: its object is made for each request, or for each that injects it/,
    ],
  ])('before anybody stands, where %s', async (_, providers, why) => {
    const started = replica(driver, 'one', providers);
    await expect(started).rejects.toThrow(LockConfigError);
    await expect(started).rejects.toThrow(why);
    expect(heldKeys()).toEqual([]);
  });

  it('where the module’s own options for leaders cannot be', () => {
    const options = { driver, leader: { ttl: '1s', tokenPeriod: '1s' } } as const;
    expect(() => DistributedLockModule.forRoot(options)).toThrow(/`tokenPeriod`, which is 1 s/);
  });

  it.each<Type>([Sound, Breathless, Slower])('where the module is missing: %o', async (type) => {
    await expect(boot({ providers: [type] })).rejects.toThrow(/LockService/);
  });
});

describe('decorated methods', () => {
  class Base {
    readonly told: string[] = [];

    @OnElected('jobs')
    async elected({ nodeId }: LeaderTerm): Promise<void> {
      this.told.push(`elected ${nodeId}`);
    }

    @OnDeposed('jobs')
    deposed({ reason }: DeposedChange): void {
      this.told.push(`deposed ${reason}`);
    }

    @LeaderOnly('jobs')
    async run(): Promise<string | undefined> {
      return 'ran';
    }
  }
  @Injectable()
  class Inherited extends Base {}
  @Injectable()
  class Overridden extends Base {
    override async elected(): Promise<void> {
      this.told.push('nobody calls this');
    }
  }
  @Controller()
  class Handlers extends Base {
    @Get()
    @LeaderOnly('jobs')
    override async run(): Promise<string | undefined> {
      return 'answered';
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class OfARequest {
    @LeaderOnly('requests')
    async run(): Promise<string | undefined> {
      return 'ran';
    }
  }

  it('are called where they are inherited, and not where they are overridden without a decorator', async () => {
    app = await replica(driver, 'one', [Inherited, Overridden]);
    await untilLeader(app, 'jobs');
    const services = [app.get(Inherited), app.get(Overridden)];
    await expect(services[0]!.run()).resolves.toBe('ran');
    await app.get(LeaderElection).campaign('jobs').resign();
    expect(services.map(({ told }) => told)).toEqual([
      ['elected one', 'deposed resigned'],
      ['deposed resigned'],
    ]);
  });

  it('are called once on an object that is provided twice, and on one that Nest has not made', async () => {
    const object = new Inherited();
    app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, node: 'one' })],
      providers: [
        { provide: 'factory', useFactory: () => object },
        { provide: 'alias', useExisting: 'factory' },
        { provide: 'value', useValue: object },
      ],
    });
    await untilLeader(app, 'jobs');
    await expect(object.run()).resolves.toBe('ran');
    expect(object.told).toEqual(['elected one']);
  });

  it.each(HTTP_ADAPTER_NAMES)('may be handlers, on %s', async (adapter) => {
    const server = await serve(adapter, {
      imports: [DistributedLockModule.forRoot({ driver, node: 'one' })],
      controllers: [Handlers],
    });
    app = server;
    await untilLeader(server, 'jobs');
    expect(await request(server, '/')).toMatchObject({ status: 200, body: 'answered' });
  });

  it('let an object of a request ask who leads', async () => {
    app = await replica(driver, 'one', [OfARequest]);
    await untilLeader(app, 'requests');
    const service = await app.resolve(OfARequest);
    await expect(service.run()).resolves.toBe('ran');
  });

  it('do not stand before the application has started, and not with less than all of the options', async () => {
    const ran: unknown[] = [];
    @Injectable()
    class WarmedUp implements OnModuleInit {
      async onModuleInit(): Promise<void> {
        ran.push(await this.run());
        ran.push(heldKeys());
      }

      @LeaderOnly('jobs')
      async run(): Promise<string | undefined> {
        return 'ran';
      }
    }
    @Injectable()
    class Quick {
      @OnElected('jobs', { ttl: '10s' })
      elected(): void {}
    }
    app = await replica(driver, 'one', [WarmedUp, Quick]);
    await untilLeader(app, 'jobs');
    expect(ran).toEqual([undefined, []]);
    await expect(app.get(WarmedUp).run()).resolves.toBe('ran');
  });

  it('may fail, which is logged', async () => {
    @Injectable()
    class Failing {
      @OnElected('jobs')
      async elected(): Promise<void> {
        throw new Error('cannot begin');
      }

      @OnDeposed('jobs')
      deposed(): void {
        throw new Error('cannot end');
      }
    }
    app = await replica(driver, 'one', [Failing]);
    await untilLeader(app, 'jobs');
    await app.get(LeaderElection).campaign('jobs').resign();
    expect(error.mock.calls.map(([message]) => message as string)).toEqual([
      '@OnElected of Failing.elected failed: cannot begin',
      '@OnDeposed of Failing.deposed failed: cannot end',
    ]);
    expect(heldKeys()).toEqual([]);
  });

  it('may resign when they are elected, and do not wait for their own end', async () => {
    const ended = new Deferred();
    @Injectable()
    class Reluctant {
      constructor(private readonly election: LeaderElection) {}

      @OnElected('jobs')
      async elected(): Promise<void> {
        await this.election.campaign('jobs').resign();
        ended.resolve();
      }
    }
    app = await replica(driver, 'one', [Reluctant]);
    await ended.promise;
    await vi.waitFor(() => expect(heldKeys()).toEqual([]));
  });

  it('may make sure that they stand no more when they are deposed, and do not wait for their own end', async () => {
    let leadership: Leadership | undefined;
    let lock: string | undefined;
    @Injectable()
    class Careful {
      @OnDeposed('jobs')
      async deposed(): Promise<void> {
        await leadership?.resign();
        lock = currentLock()?.keys[0];
      }
    }
    app = await replica(driver, 'one', [Careful]);
    await untilLeader(app, 'jobs');
    leadership = app.get(LeaderElection).campaign('jobs');
    await leadership.resign();
    expect(lock).toBe('leader:jobs');
    expect(heldKeys()).toEqual([]);
  });

  it('may end as the signal of their term tells them, which is not logged', async () => {
    @Injectable()
    class Worker {
      ended: unknown;

      @OnElected('jobs')
      async elected({ signal }: LeaderTerm): Promise<void> {
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      }
    }
    app = await replica(driver, 'one', [Worker]);
    await untilLeader(app, 'jobs');
    await app.get(LeaderElection).campaign('jobs').resign();
    expect(error).not.toHaveBeenCalled();
    expect(heldKeys()).toEqual([]);
  });

  it('may fail for a reason of their own when the seat was lost, which is logged', async () => {
    @Injectable()
    class Worker {
      @OnElected('jobs')
      async elected({ signal }: LeaderTerm): Promise<void> {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw new Error('could not clean up');
      }
    }
    app = await replica(driver, 'one', [Worker]);
    await untilLeader(app, 'jobs');
    await app.get(LockService).forceRelease('leader:jobs');
    await vi.waitFor(() =>
      expect(error.mock.calls.map(([message]) => String(message))).toContainEqual(
        expect.stringMatching(/^@OnElected of Worker\.elected failed: /),
      ),
    );
  });

  it('are called in the terms of a campaign that follows one that was ended by hand', async () => {
    app = await replica(driver, 'one', [Inherited]);
    const election = app.get(LeaderElection);
    await untilLeader(app, 'jobs');
    await election.campaign('jobs').resign();
    await untilLeader(app, 'jobs');
    await vi.waitFor(() =>
      expect(app!.get(Inherited).told).toEqual(['elected one', 'deposed resigned', 'elected one']),
    );
    await expect(app.get(Inherited).run()).resolves.toBe('ran');
  });

  it.each(['above', 'below'])('go together with @Cron: %s', async (place) => {
    const order = <T>(one: T, other: T): T[] => (place === 'above' ? [one, other] : [other, one]);
    class Jobs {
      readonly ran: string[] = [];
      async nightly(): Promise<void> {
        this.ran.push('nightly');
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Jobs.prototype, 'nightly')!;
    const decorators = order<Function>(LeaderOnly('jobs'), Cron('0 3 * * *', { name: 'nightly' }));
    for (const decorate of decorators.toReversed()) {
      decorate(Jobs.prototype, 'nightly', descriptor);
    }
    Object.defineProperty(Jobs.prototype, 'nightly', descriptor);
    Injectable()(Jobs);
    app = await boot({
      imports: [ScheduleModule.forRoot(), DistributedLockModule.forRoot({ driver, node: 'one' })],
      providers: [Jobs],
    });
    const job = app.get(SchedulerRegistry).getCronJob('nightly');
    await untilLeader(app, 'jobs');
    await job.fireOnTick();
    expect(app.get<{ ran: string[] }>(Jobs).ran).toEqual(['nightly']);
    await app.get(LeaderElection).campaign('jobs').resign();
    await job.fireOnTick();
    expect(app.get<{ ran: string[] }>(Jobs).ran).toEqual(['nightly']);
  });
});

describe('named instances', () => {
  @Injectable()
  class Mails {
    constructor(
      @InjectLeaderElection('billing') readonly billing: LeaderElection,
      readonly election: LeaderElection,
    ) {}

    @LeaderOnly('mails', { service: 'billing' })
    async send(): Promise<string | undefined> {
      return 'sent';
    }
  }

  it('have elections of their own', async () => {
    const other = new MemoryLockDriver();
    app = await boot({
      imports: [
        DistributedLockModule.forRoot(driver),
        DistributedLockModule.forRoot({ name: 'billing', driver: other, node: 'one' }),
      ],
      providers: [Mails],
    });
    const mails = app.get(Mails);
    expect(mails.billing).toBe(app.get(getLeaderElectionToken('billing')));
    expect(mails.election).toBe(app.get(LeaderElection));
    expect(mails.election).toBe(LeaderElection.of(app.get(LockService)));
    expect(mails.billing).not.toBe(mails.election);
    await vi.waitFor(() => expect(mails.billing.campaign('mails').isLeader).toBe(true));
    await expect(mails.send()).resolves.toBe('sent');
    expect(heldKeys()).toEqual([]);
    expect(other.list().map(({ key }) => key)).toEqual(['leader:mails']);
  });
});
