import { Redis } from 'ioredis';
import { LockService } from 'nestjs-distributed-lock';
import { RedisLockDriver } from 'nestjs-distributed-lock/redis';
import { alternate, type Contestant, type Standing } from './support/alternate.js';
import type { Bench, Finding, Target } from './support/bench.js';
import { ratio } from './support/compare.js';
import { bindToCore } from './support/cores.js';
import { RedisServer } from './support/redis-server.js';

/** Takes the lock of this number and gives it back, once. */
type Turn = (lock: number) => Promise<unknown>;

const TTL = 30_000;
/** How often each of those in flight comes again. */
const ROUNDS = 10;
const DELETE_IF_MINE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`;

const CASES: readonly {
  readonly width: number;
  readonly oneCore: number;
  readonly twoCores: number;
}[] = [
  { width: 1, oneCore: 0.75, twoCores: 0.85 },
  { width: 64, oneCore: 1.5, twoCores: 1.5 },
  { width: 512, oneCore: 1.5, twoCores: 1.5 },
];

/** Compared with what one writes by hand, which mints no token and tells nobody of a release. */
export const redis: Bench = {
  name: 'redis',
  about:
    'acquire() and release() on Redis, of SET NX PX and compare-and-delete, the better of with and without auto-pipelining',
  run: async () => {
    await using server = await RedisServer.start();
    if (server === undefined) {
      console.log('  skipped: there is no redis-server on the PATH');
      return [];
    }
    await using clients = new Clients(server.port);
    const contestants = await clients.contestants();
    const findings: Finding[] = [];
    for (const cores of ['two cores', 'one core'] as const) {
      if (!bindToCore(process.pid, 0) || !bindToCore(server.pid, cores === 'one core' ? 0 : 1)) {
        console.log(`  ${cores}: the processes cannot be bound to cores here`);
      }
      for (const { width, oneCore, twoCores } of CASES) {
        const value = cores === 'one core' ? oneCore : twoCores;
        findings.push(...(await measure(contestants, width, cores, { bound: 'at least', value })));
      }
    }
    return findings;
  },
};

interface Contestants {
  readonly byHand: Turn;
  readonly pipelined: Turn;
  readonly ours: Turn;
}

class Clients implements AsyncDisposable {
  readonly #byHand: Redis;
  readonly #pipelined: Redis;
  readonly #ours: Redis;
  readonly #locks: LockService;
  #owners = 0;

  constructor(port: number) {
    this.#byHand = new Redis(port);
    this.#pipelined = new Redis({ port, enableAutoPipelining: true });
    this.#ours = new Redis(port);
    this.#locks = new LockService(new RedisLockDriver(this.#ours));
  }

  async contestants(): Promise<Contestants> {
    await this.#locks.onModuleInit();
    const digest = (await this.#byHand.script('LOAD', DELETE_IF_MINE)) as string;
    const byHand =
      (client: Redis): Turn =>
      async (lock) => {
        const owner = `owner-${this.#owners++}`;
        await client.set(`by-hand:${lock}`, owner, 'PX', TTL, 'NX');
        await client.evalsha(digest, 1, `by-hand:${lock}`, owner);
      };
    return {
      byHand: byHand(this.#byHand),
      pipelined: byHand(this.#pipelined),
      ours: async (lock) => {
        const handle = await this.#locks.acquire(`ours:${lock}`, { ttl: TTL });
        await handle.release();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#locks[Symbol.asyncDispose]();
    [this.#byHand, this.#pipelined, this.#ours].forEach((client) => client.disconnect());
  }
}

async function measure(
  { byHand, pipelined, ours }: Contestants,
  width: number,
  cores: string,
  target: Target,
): Promise<Finding[]> {
  const what = width === 1 ? 'one after the other' : `${width} in flight`;
  const [hand, lock, again, pipes] = (await alternate(
    [byHand, ours, byHand, pipelined].map((turn, index) => ({
      name: `${index}`,
      run: inFlight(turn, width),
    })),
    { atLeast: ROUNDS * width },
  )) as [Standing, Standing, Standing, Standing];
  const better = medianOf(pipes) < medianOf(hand) ? pipes : hand;
  return [
    { ...ratio(`${what}, ${cores}`, lock, better, 'wall'), target },
    ratio('  control: by hand again', again, hand, 'wall'),
    ratio('  of by hand without pipelining', lock, hand, 'wall'),
  ];
}

function inFlight(turn: Turn, width: number): Contestant['run'] {
  return async (operations) => {
    let left = operations;
    await Promise.all(
      Array.from({ length: width }, async (_, lock) => {
        while (left-- > 0) {
          await turn(lock);
        }
      }),
    );
  };
}

function medianOf({ wall }: Standing): number {
  return wall.toSorted((a, b) => a - b)[Math.floor(wall.length / 2)] as number;
}
