import { eventually } from './eventually.js';
import { isPrimary, startReplica, untilLinked } from './redis-replica.js';
import {
  sentinelConfigOf,
  type SentinelsOptions,
  type SentinelView,
  setPace,
  viewOf,
  wake,
} from './redis-sentinel.js';
import { RedisServer } from './redis-server.js';

const SENTINELS = 3;

/** A primary with a replica, and three sentinels that watch over them. */
export class RedisSentinels implements AsyncDisposable {
  /** The name that the sentinels know the primary by. */
  readonly name = 'locks';
  readonly sentinels: RedisServer[] = [];

  private constructor(
    /** Who is the primary now. */
    public primary: RedisServer,
    /** Who was it before, or will be after the next failover. */
    public replica: RedisServer,
  ) {}

  /** Resolves when the sentinels know each other and the replica, so that a failover can succeed. */
  static async start(program: string, options: SentinelsOptions = {}): Promise<RedisSentinels> {
    const primary = await RedisServer.start(program);
    const trio = new RedisSentinels(primary, primary);
    try {
      trio.replica = await startReplica(program, primary);
      for (let i = 0; i < SENTINELS; i++) {
        const sentinel = sentinelConfigOf(trio.name, primary, options);
        trio.sentinels.push(await RedisServer.start(program, { sentinel }));
      }
      await Promise.all(trio.sentinels.map(wake));
      await trio.untilReady();
    } catch (error) {
      await trio.stop();
      throw error;
    }
    return trio;
  }

  /** Resolves when a failover can succeed: all see the primary, its replica and each other. */
  async untilReady(): Promise<void> {
    await this.#setPace('in haste');
    await eventually('the sentinels see everybody', async () => {
      const views = await this.#views();
      return views.every(({ port, isReady }) => isReady && port === this.primary.port);
    });
    await untilLinked(this.primary, this.replica);
    await this.#setPace('at ease');
  }

  /**
   * Makes the replica the primary: because a sentinel was told to (then the old primary follows the new one), because
   * the primary was killed, or because it stands still (then it is not told, until it is resumed).
   * Resolves with the new primary when all sentinels name it and it takes writes.
   */
  async failover(how: 'command' | 'kill' | 'pause' = 'command'): Promise<RedisServer> {
    const { primary: old, replica: next } = this;
    await this.#bringDown(old, how);
    await eventually('the sentinels name the new primary', async () =>
      (await this.#views()).every(({ port }) => port === next.port),
    );
    await eventually('the new primary knows that it is one', () => isPrimary(next));
    [this.primary, this.replica] = [next, old];
    if (how === 'command') {
      await this.untilReady();
    }
    return next;
  }

  async stop(): Promise<void> {
    const servers = new Set([this.primary, this.replica, ...this.sentinels]);
    await Promise.all([...servers].map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #bringDown(primary: RedisServer, how: 'command' | 'kill' | 'pause'): Promise<void> {
    if (how !== 'command') {
      return how === 'kill' ? primary.kill() : primary.pause();
    }
    const [sentinel] = this.sentinels as [RedisServer];
    // It refuses as long as the failover before is not over.
    await eventually('a sentinel begins the failover', async () => {
      return (await sentinel.command('SENTINEL', 'FAILOVER', this.name)) === 'OK';
    });
  }

  async #setPace(pace: Parameters<typeof setPace>[1]): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => setPace(sentinel, pace)));
  }

  #views(): Promise<SentinelView[]> {
    return Promise.all(this.sentinels.map((sentinel) => viewOf(sentinel, this.name)));
  }
}
