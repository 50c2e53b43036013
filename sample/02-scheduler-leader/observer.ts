import { Chronicle } from './chronicle.js';
import type { Options } from './options.js';
import type { ReplicaMessage } from './replica.reporter.js';
import type { Replicas, ReplicasListener } from './replicas.js';
import type { RecordedTick } from './tick.js';

/** How long a leader may lead before it is ended, in milliseconds. */
const TERM = 1_800;

/** How many terms `--once` waits for. */
const ENOUGH_TERMS = 3;

/** Prints what replicas tell, ends leaders if it is to, and says when there is enough. */
export class Observer implements ReplicasListener {
  private readonly chronicle = new Chronicle();
  private startedAt = performance.now();
  private readonly failures: string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private replicas: Pick<Replicas, 'end'> | undefined;

  constructor(
    private readonly options: Pick<Options, 'kill' | 'once'>,
    private readonly ending: Pick<AbortController, 'abort'>,
  ) {}

  observe(replicas: Pick<Replicas, 'end'>): void {
    this.replicas = replicas;
    this.startedAt = performance.now();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  told(message: ReplicaMessage): void {
    const { node } = message;
    if (message.kind === 'elected') {
      this.chronicle.elected(node, message.fencingToken);
      this.print(node, `leads: term ${this.chronicle.count}, token ${message.fencingToken}`);
      this.endLater(node);
    } else if (message.kind === 'deposed') {
      this.chronicle.ended(node, message.reason);
      this.print(node, `leads no more: ${message.reason}`);
    } else {
      this.print(node, `runs slot ${message.slot} with token ${message.fencingToken}`);
    }
  }

  replaced(node: string, signal: NodeJS.Signals, successor: string): void {
    this.chronicle.ended(node, signal);
    this.print(node, `is ended by ${signal}; ${successor} is started in its place`);
  }

  failed(node: string): void {
    this.failures.push(`${node} has ended by itself`);
    this.ending.abort();
  }

  table(ticks: readonly RecordedTick[]): readonly Readonly<Record<string, string | number>>[] {
    return this.chronicle.summarize(ticks).map((term, i) => ({
      term: `${i + 1}`,
      leader: term.node,
      'first token': `${term.firstToken}`,
      'last token': `${term.lastToken}`,
      ticks: term.ticks,
      'ended by': term.endedBy ?? '',
    }));
  }

  /** What went wrong, if anything did. */
  faults(ticks: readonly RecordedTick[]): readonly string[] {
    const isEnough = this.hasEnough && ticks.length > 0;
    const tooFew = this.options.once && !isEnough ? ['there was too little to see'] : [];
    return [...this.failures, ...tooFew, ...this.chronicle.faults(ticks)];
  }

  private get hasEnough(): boolean {
    return this.chronicle.count >= ENOUGH_TERMS;
  }

  private endLater(node: string): void {
    clearTimeout(this.timer);
    if (this.options.kill || this.options.once) {
      this.timer = setTimeout(() => this.endTerm(node), TERM);
    }
  }

  private endTerm(node: string): void {
    if (this.options.once && this.hasEnough) {
      this.ending.abort();
    } else if (this.chronicle.leader === node) {
      this.replicas?.end(node, this.options.kill ? 'SIGKILL' : 'SIGTERM');
    }
  }

  private print(node: string, event: string): void {
    const seconds = ((performance.now() - this.startedAt) / 1000).toFixed(1);
    console.log(`${seconds.padStart(6)} s   ${node.padEnd(10)}  ${event}`);
  }
}
