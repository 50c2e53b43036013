import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import {
  currentLock,
  type DeposedChange,
  FencingGate,
  LeaderOnly,
  type LeaderTerm,
  OnDeposed,
  OnElected,
} from 'nestjs-distributed-lock';
import { ReplicaReporter } from './replica.reporter.js';
import { SLOT } from './tick.js';
import { TicksRepository } from './ticks.repository.js';

/** Runs in every replica. The interval fires in all of them, and only the leader's does something. */
@Injectable()
export class SchedulerService {
  /** None until this replica leads, and knows what the leaders before it have run. */
  private nextSlot = Infinity;

  constructor(
    private readonly ticks: TicksRepository,
    private readonly gate: FencingGate,
    private readonly reporter: ReplicaReporter,
  ) {}

  @OnElected('scheduler')
  async takeOver(term: LeaderTerm): Promise<void> {
    const { node, fencingToken } = { node: term.nodeId, fencingToken: term.fencingToken };
    this.reporter.tell({ kind: 'elected', node, fencingToken });
    const lastSlot = await this.ticks.lastSlot();
    // It may have come back so late that the term is over.
    if (term.isLive) {
      this.nextSlot = lastSlot + 1;
    }
  }

  @OnDeposed('scheduler')
  standDown({ nodeId, reason }: DeposedChange): void {
    this.nextSlot = Infinity;
    this.reporter.tell({ kind: 'deposed', node: nodeId, reason });
  }

  /** Fires several times in a slot, as a timer does not keep to slots; a slot is run once. */
  @Interval(SLOT / 5)
  @LeaderOnly('scheduler')
  async tick(): Promise<void> {
    const slot = Math.floor(Date.now() / SLOT);
    if (slot >= this.nextSlot) {
      this.nextSlot = slot + 1;
      const { owner, fencingToken } = currentLock()!;
      const tick = { slot, node: nodeOf(owner), fencingToken };
      await this.ticks.save(tick, (transaction) =>
        this.gate.admit('scheduler', fencingToken, transaction),
      );
      this.reporter.tell({ kind: 'tick', ...tick });
    }
  }
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf('#'));
}
