import type { Redis } from 'ioredis';
import type { RecordedTick, Tick } from './tick.js';
import type { Admit, TicksRepository } from './ticks.repository.js';

/** Hashes by slot: who ran it first, and how often it was run. */
const FIRST = 'scheduler:{ticks}:first';
const RUNS = 'scheduler:{ticks}:runs';

export class RedisTicksRepository implements TicksRepository {
  constructor(private readonly redis: Redis) {}

  prepare(): Promise<void> {
    return this.remove();
  }

  async lastSlot(): Promise<number> {
    return Math.max(0, ...(await this.redis.hkeys(RUNS)).map(Number));
  }

  /** Redis has no transaction for check and write: a leader that is paused just between them still gets through. */
  async save({ slot, node, fencingToken }: Tick, admit: Admit): Promise<void> {
    await admit();
    const first = JSON.stringify({ node, fencingToken: String(fencingToken) });
    await this.redis.multi().hsetnx(FIRST, `${slot}`, first).hincrby(RUNS, `${slot}`, 1).exec();
  }

  async findAll(): Promise<readonly RecordedTick[]> {
    const [first, runs] = await Promise.all([this.redis.hgetall(FIRST), this.redis.hgetall(RUNS)]);
    return Object.entries(first)
      .map(([slot, text]) => ({ ...parse(slot, text), runs: Number(runs[slot]) }))
      .toSorted((a, b) => a.slot - b.slot);
  }

  async remove(): Promise<void> {
    await this.redis.del(FIRST, RUNS);
  }
}

function parse(slot: string, text: string): Tick {
  const { node, fencingToken } = JSON.parse(text) as Record<'node' | 'fencingToken', string>;
  return { slot: Number(slot), node, fencingToken: BigInt(fencingToken) };
}
