import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import { LockEvents } from '../../../lib/core/lock-events.js';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import { LockError } from '../../../lib/errors/lock.error.js';
import type { LockEvent } from '../../../lib/interfaces/lock-event.interface.js';
import type { FakeClock } from '../fake-clock.js';
import type { ProcessClock } from '../process-clock.js';
import type { Weather } from './weather.js';

/** How much later than it wanted somebody may be told: the way to the backend and back, twice. */
const PATIENCE = 60;

/** Who has locks, as far as the judge is concerned. */
export interface Party {
  readonly name: string;
  readonly clock: ProcessClock;
}

/** A handle that its user believes to hold. */
interface Holder {
  readonly party: Party;
  readonly lock: EngineHandle;
}

/** Knows what must never be, and writes down what was. */
export class Judge {
  readonly violations: string[] = [];
  /** How often what happened, to see that a run is worth something. */
  readonly counts: Record<string, number> = {};
  readonly #holders = new Set<Holder>();
  readonly #lastToken = new Map<string, bigint>();

  constructor(
    private readonly world: FakeClock,
    private readonly weather: Weather,
  ) {}

  violated(what: string): void {
    if (this.violations.length < 20) {
      this.violations.push(`${this.world.now() - 1_000_000} ms: ${what}`);
    }
  }

  failed(error: unknown): void {
    if (!(error instanceof LockError)) {
      this.violated(error instanceof Error ? String(error.stack) : String(error));
      return;
    }
    this.#count(error.code);
    if (this.weather.calm && error.code === 'LOCK_DRIVER') {
      this.violated(`The backend was blamed: ${error.message}`);
    }
  }

  /** Somebody asked at `since`, and has been answered now. */
  answered({ wait }: AcquireSettings, since: number): void {
    const late = this.world.now() - since - wait;
    if (this.weather.calm && late > PATIENCE) {
      this.violated(`Somebody was told ${late} ms after a wait of ${wait} ms`);
    }
  }

  /** The handle is believed to be held until the result is called. */
  holds(party: Party, lock: EngineHandle): () => void {
    const holder = { party, lock };
    this.#holders.add(holder);
    this.look();
    return () => void this.#holders.delete(holder);
  }

  granted({ name }: Party, key: string, token: bigint): void {
    const last = this.#lastToken.get(key) ?? 0n;
    if (token <= last && !this.weather.lawless) {
      this.violated(`${key} has token ${token} in ${name} after ${last}`);
    }
    this.#lastToken.set(key, token);
    const others = this.#holdersOf(key).filter((holder) => tokenOf(holder, key) !== token);
    if (others.length > 0) {
      this.violated(`${key} is granted in ${name} while ${names(others)} hold it`);
    }
  }

  happened(event: LockEvent): void {
    this.#count(event.type === 'released' && event.handedOver ? 'handedOver' : event.type);
    if (event.type === 'lost' && this.weather.calm) {
      const { message } = event.error;
      if (!/maxHold|shut down/.test(message)) {
        this.violated(`Lost in calm weather: ${message}`);
      }
    }
  }

  /** Two that both say at one moment that they hold a key are what must never be. */
  look(): void {
    const keys = new Set([...this.#holders].flatMap(({ lock }) => lock.keys));
    for (const key of keys) {
      const holders = this.#holdersOf(key);
      const turns = new Set(holders.map((holder) => tokenOf(holder, key)));
      if (turns.size > 1) {
        this.violated(`${key} is held by ${names(holders)}`);
      }
    }
  }

  #holdersOf(key: string): Holder[] {
    return this.weather.lawless
      ? []
      : [...this.#holders].filter(
          ({ party, lock }) => lock.keys.includes(key) && !party.clock.paused && lock.held,
        );
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

/** Sees grants at the very moment they are made; listeners are told a little later. */
export class GrantWatch extends LockEvents {
  constructor(private readonly granted: (key: string, token: number) => void) {
    super();
  }

  override acquired(...event: Parameters<LockEvents['acquired']>): void {
    this.granted(event[0].key, event[1]);
    super.acquired(...event);
  }
}

function tokenOf({ lock }: Holder, key: string): bigint {
  return lock.fencingTokens[lock.keys.indexOf(key)]!;
}

function names(holders: readonly Holder[]): string {
  return holders
    .map(({ party, lock }) => `${party.name} (${lock.fencingTokens.join()})`)
    .join(' and ');
}
