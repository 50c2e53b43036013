import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.js';
import { eventually } from '../redis/eventually.js';
import type { Candidate } from './candidate.js';
import type { Electorate } from './electorate.js';

/** What can be done to a leader. */
export const BLOWS = ['kill', 'stop', 'doze', 'cut', 'silence', 'late', 'resign'] as const;
export type Blow = (typeof BLOWS)[number];

/** A blow that ended a term, and after how many milliseconds somebody led again. */
export interface Change {
  readonly blow: Blow;
  readonly took: number;
}

/** What a blow leaves behind, to be made good when somebody else leads. */
type Remedy = () => Promise<void> | void;

/** Strikes one leader after the other. */
export class Storm {
  /** In their order. */
  readonly changes: Change[] = [];
  readonly #candidates = new Map<string, Candidate>();
  readonly #restarts: Promise<void>[] = [];
  readonly #blows: { readonly [Name in Blow]: (leader: Candidate) => Promise<Remedy> } = {
    kill: (leader) => this.#kill(leader),
    stop: (leader) => stop(leader),
    doze: (leader) => this.#doze(leader),
    cut: (leader) => cut(leader),
    silence: (leader) => silence(leader, { lost: true }),
    late: (leader) => silence(leader, { lost: false }),
    resign: (leader) => resign(leader),
  };

  constructor(
    private readonly electorate: Electorate,
    private readonly random: Random,
    private readonly ttl: number,
  ) {}

  /** So many processes stand. */
  async gather(processes: number): Promise<void> {
    await Promise.all(Array.from({ length: processes }, (_, i) => this.#join(`node-${i}`)));
  }

  /** Strikes until so many terms have ended by it. */
  async rage(changes: number): Promise<void> {
    while (this.changes.length < changes) {
      await this.#strike(this.random.pick(BLOWS));
    }
    await Promise.all(this.#restarts);
    await this.#leader();
  }

  async #strike(blow: Blow): Promise<void> {
    const leader = await this.#leader();
    await this.#servesAWhile(leader);
    const last = this.#newest();
    const wake = await this.#stopBystander(leader);
    const from = performance.now();
    const remedy = await this.#blows[blow](leader);
    // Whoever has only dozed may wake up in time.
    const isSpared = blow === 'doze' && (await leader.look()).isLeader;
    if (!isSpared) {
      await eventually(`somebody leads after: ${blow} ${leader.name}`, () => this.#newest() > last);
      this.changes.push({ blow, took: performance.now() - from });
    }
    await remedy();
    wake();
  }

  /** At times another sleeps meanwhile, perhaps with the seat on its way to it; never the last that could be elected. */
  async #stopBystander(leader: Candidate): Promise<() => void> {
    const others = [...this.#candidates.values()].filter(
      (candidate) => candidate !== leader && candidate.isAlive,
    );
    if (others.length < 2 || !this.random.chance(0.25)) {
      return () => undefined;
    }
    const bystander = this.random.pick(others);
    await bystander.pause();
    return () => bystander.resume();
  }

  /** Waits for somebody to be elected who has not been deposed since, by all that he told. */
  async #leader(): Promise<Candidate> {
    let leader: Candidate | undefined;
    await eventually('somebody leads', () => {
      leader = [...this.#candidates.values()].find(
        (candidate) => tokenOf(candidate) === this.#newest() && candidate.election !== undefined,
      );
      return leader !== undefined;
    });
    return leader as Candidate;
  }

  /** For some looks of its own, or until it is deposed. */
  async #servesAWhile(leader: Candidate): Promise<void> {
    const looks = this.random.int(1, this.ttl / 2);
    await eventually(`${leader.name} has served`, async () => {
      const look = await leader.look();
      return !look.isLeader || look.looks >= looks;
    });
  }

  /** The largest token of all that were elected. */
  #newest(): number {
    return Math.max(...[...this.#candidates.values()].map((candidate) => tokenOf(candidate)));
  }

  async #join(name: string): Promise<void> {
    const candidate = await this.electorate.candidate(name);
    this.#candidates.set(name, candidate);
    await candidate.stand();
  }

  /** It is restarted at once under the same name, while its former self still has the seat. */
  async #kill(leader: Candidate): Promise<Remedy> {
    await leader.kill();
    this.#restarts.push(this.#join(leader.name));
    return () => undefined;
  }

  /** Until about the end of its ttl: it may wake up just before, just after, or while another is elected. */
  async #doze(leader: Candidate): Promise<Remedy> {
    await leader.pause();
    await sleep(this.ttl * (0.7 + 0.6 * this.random.next()));
    leader.resume();
    return () => undefined;
  }
}

async function stop(leader: Candidate): Promise<Remedy> {
  await leader.pause();
  return () => leader.resume();
}

function cut({ wire }: Candidate): Promise<Remedy> {
  wire.cut();
  return Promise.resolve(() => wire.heal());
}

function silence({ wire }: Candidate, what: { readonly lost: boolean }): Promise<Remedy> {
  wire.silence();
  return Promise.resolve(() => wire.heal(what));
}

async function resign(leader: Candidate): Promise<Remedy> {
  await leader.resign();
  await leader.stand();
  return () => undefined;
}

/** Of its last election. */
function tokenOf({ notes }: Candidate): number {
  return Number(notes.findLast(({ note }) => note === 'elected')?.about ?? 0);
}
